// Files of tensors of <tensorstat/tensorstat.h>.
#include <tensorstat/tensorstat.h>

#include "stats/bindings/c/handles.hpp"
#include "stats/core/base/fault_list.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/survey/survey.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_file {
  struct Measured {
    std::optional<std::string> name;
    Row row;
    std::vector<tensorstat_value> values;
  };
  std::vector<Measured> tensors;
  std::vector<std::string> faults;
};

tensorstat_code tensorstat_file_measure(tensorstat_meter* meter, const char* path, const tensorstat_request* request,
                                        int void_is_bfloat16, tensorstat_file** file) {
  return guarded([&]() -> tensorstat_code {
    if (meter == nullptr || path == nullptr || file == nullptr) {
      return missing(meter == nullptr ? "the meter" : path == nullptr ? "the path" : "the pointer for the file");
    }
    auto taken = c::request_of(request);
    if (!taken) return failed(taken.error());
    auto to = std::make_unique<tensorstat_file>();
    std::optional<Error> first;
    FaultList faults;
    const auto fault = [&](const Error& error) {
      if (!first) first = error;
      faults.add(error.message);
    };
    Survey::Listener listener;
    listener.measured = [&](SurveyedTensor&& entry) {
      tensorstat_file::Measured& made = to->tensors.emplace_back();
      for (const Value& value : entry.row.statistics.values) made.values.push_back(c::value_of(value));
      made.name = std::move(entry.tensor);
      made.row = std::move(entry.row);
    };
    listener.unreadable = fault;
    listener.unmeasured = [&](const std::string& label, const Error& error) {
      fault({error.code, printable_name(label) + ": " + error.message});
    };
    listener.progressed = [](const Survey::Progress&) {};
    Survey survey(meter->meter, *std::move(taken), {.void_is_bfloat16 = void_is_bfloat16 != 0}, std::move(listener));
    survey.add(path);
    survey.finish();
    if (to->tensors.empty() && first) return failed(*first);
    to->faults = std::move(faults).taken();
    *file = to.release();
    return TENSORSTAT_OK;
  });
}

void tensorstat_file_free(tensorstat_file* file) { c::destroy(file); }

size_t tensorstat_file_tensor_count(const tensorstat_file* file) { return file == nullptr ? 0 : file->tensors.size(); }

tensorstat_code tensorstat_file_tensor_at(const tensorstat_file* file, size_t index, tensorstat_file_tensor* tensor) {
  return guarded([&]() -> tensorstat_code {
    if (file == nullptr || tensor == nullptr || tensor->size < sizeof(size_t)) {
      return missing(file == nullptr ? "the file" : "tensorstat_file_tensor");
    }
    if (index >= file->tensors.size()) {
      return failed({Code::kInvalid, "tensor " + std::to_string(index) + " of a file of " +
                                         std::to_string(file->tensors.size()) + " does not exist"});
    }
    const tensorstat_file::Measured& from = file->tensors[index];
    const size_t room = tensor->size;
    const tensorstat_file_tensor to{room,
                                    from.name ? from.name->c_str() : nullptr,
                                    from.row.data_type.c_str(),
                                    from.row.shape.data(),
                                    static_cast<uint32_t>(from.row.shape.size()),
                                    static_cast<uint32_t>(from.values.size()),
                                    from.values.data(),
                                    from.row.data_size_bytes};
    std::memcpy(tensor, &to, std::min(room, sizeof to));
    return TENSORSTAT_OK;
  });
}

const char* tensorstat_file_fault(const tensorstat_file* file, size_t index) {
  return file == nullptr || index >= file->faults.size() ? nullptr : file->faults[index].c_str();
}
