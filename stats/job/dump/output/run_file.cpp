#include "stats/job/dump/output/run_file.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/dump_data.hpp"
#include "stats/data/rows/names/run_name.hpp"

namespace tensorstat {
namespace {

// By io and slot, inputs first: the order of the bytes in the file.
using Slots = std::map<std::pair<Io, std::uint32_t>, const PendingTensor*>;

// Slots without a tensor are written as empty.
Result<DumpData> described(const Slots& slots, Notices& notices) {
  DumpData data;
  for (const auto& [place, tensor] : slots) {
    const auto& [io, slot] = place;
    auto& list = io == Io::kInput ? data.inputs : data.outputs;
    const std::size_t others = io == Io::kInput ? 0 : data.inputs.size();
    if (slot >= kMostDumpTensors - others) {
      return Error{Code::kUnsupported, "slot " + std::to_string(slot) + " is above what a dump file can hold"};
    }
    list.resize(slot + std::size_t{1});
    const std::string_view type = data_type(*tensor);
    const DumpDtype* dtype = dump_dtype(type);
    if (dtype == nullptr) {
      notices.warn_once("no type", [&] {
        return "Ascend's dump files have no type " + std::string(type) + ": the tensor is written with an unknown type";
      });
    }
    list.back() = {.data_type = dtype ? dtype->number : 0,
                   .format = dump_format(tensor->format),
                   .shape = tensor->shape,
                   .original_shape = tensor->on_host.shape,
                   .original_format = tensor->on_host.format.empty() ? -1 : dump_format(tensor->on_host.format),
                   .groups = tensor->on_host.groups,
                   .size_bytes = tensor->tensor.bytes()};
  }
  return data;
}

Status save_file(const PendingRun& run, const Slots& slots, const std::string& folder, DumpFiles& files,
                 DumpMeter& dump_meter, Notices& notices) {
  const auto data = described(slots, notices);
  if (!data) return data.error();
  Identity identity = identity_of(run, *slots.begin()->second);
  if (!can_name_run(identity)) return no_file_name(identity);
  std::string name = run_file_stem(identity);
  for (; files.has(folder, name); name = run_file_stem(identity)) ++identity.timestamp_us;
  return files.save_run(folder, name, [&](const WritePiece& write) -> Status {
    write(dump_data_header(*data, run.op->name, identity.timestamp_us));
    for (const auto& [place, tensor] : slots) {
      DumpMeter::Room room;
      const auto bits = dump_meter.bits(*tensor, room);
      if (!bits) return bits.error();
      write({reinterpret_cast<const char*>(bits->data()), bits->size()});
    }
    return {};
  });
}

}  // namespace

Error no_file_name(const Identity& identity) {
  return {Code::kInvalid, "no file can be named after the operator \"" + shown(identity.op_type) + "\", \"" +
                              shown(identity.op_name) + "\": it needs a type and a name"};
}

void save_run(const PendingRun& run, const std::string& folder, DumpFiles& files, DumpMeter& dump_meter,
              DumpTally& tally, Notices& notices) noexcept {
  std::size_t done = 0;
  try {
    while (done != run.tensors.size()) {
      Slots slots;
      std::size_t end = done;
      for (; end != run.tensors.size(); ++end) {
        const PendingTensor& tensor = run.tensors[end];
        if (!slots.emplace(std::pair(tensor.io, tensor.slot), &tensor).second) break;
      }
      const Status saved = save_file(run, slots, folder, files, dump_meter, notices);
      const std::size_t count = end - std::exchange(done, end);
      if (saved) {
        tally.tensors += count;
        continue;
      }
      ++tally.lost_files;
      tally.lost_tensors += count;
      notices.warn_once("run file", [&] { return saved.error().message + "; more such files may be missing"; });
    }
  } catch (const std::exception& fault) {
    ++tally.lost_files;
    tally.lose(run.tensors.size() - done, fault.what());
  }
}

}  // namespace tensorstat
