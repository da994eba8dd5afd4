// Each door of the C library that computes gives the same bits and texts whatever mode of floating point the caller is
// in: every rounding mode, with subnormals flushed, with every trap unmasked. The caller gets its mode back.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/float_control.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_float_modes_test {

void set_mode(std::uint64_t control) {
#if defined(__x86_64__)
  _mm_setcsr(static_cast<unsigned>(control));
#elif defined(__aarch64__)
  asm volatile("msr fpcr, %0" : : "r"(control));
#endif
}

std::vector<std::uint64_t> all_modes() {
  std::vector<std::uint64_t> modes;
#if defined(__x86_64__)
  for (const std::uint64_t rounding : {0x0, 0x2000, 0x4000, 0x6000}) {
    for (const std::uint64_t rest : {0x1f80, 0x9fc0, 0x0, 0x8040}) modes.push_back(rounding | rest);
  }
#elif defined(__aarch64__)
  for (std::uint64_t rounding = 0; rounding < 4; ++rounding) {
    for (std::uint64_t flush = 0; flush < 2; ++flush) modes.push_back(rounding << 22 | flush << 24);
  }
#endif
  return modes;
}

// The numbers of a test have these bits; here nothing is computed of them.
double real(std::uint64_t bits) { return std::bit_cast<double>(bits); }

class Caller {
 public:
  explicit Caller(std::uint64_t mode) : mode_(mode) {}

  template <typename Call>
  auto operator()(const Call& call) {
    const std::uint64_t before = test::float_control();
    set_mode(mode_);
    const auto result = call();
    const std::uint64_t left = test::float_control();
    set_mode(before);
    EXPECT_EQ(left, mode_) << "the caller's mode has changed";
    return result;
  }
  // Calls a function that returns a code; writes the code and the error.
  template <typename Call>
  void code(const char* what, const Call& call) {
    const auto answered = (*this)(call);
    text += std::string(what) + " " + std::to_string(answered) + (answered == TENSORSTAT_OK ? "" : last_error()) + "\n";
  }
  void value(const char* what, const tensorstat_value& value) {
    char words[256];
    (*this)([&] { return tensorstat_value_text(&value, words, sizeof words); });
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value.is, value.kind == TENSORSTAT_NONE || value.kind > TENSORSTAT_REAL ? 0 : sizeof bits);
    text += std::string(what) + " " + words + " " + std::to_string(bits) + "\n";
  }
  void answer(const char* what, tensorstat_answer* answer) {
    if (answer == nullptr) return;
    text += std::string(what) + " " + tensorstat_answer_json(answer) + "\n";
    const char* const page = tensorstat_answer_page(answer);
    text += page == nullptr ? "" : page;
    tensorstat_answer_free(answer);
  }

  std::string text;

 private:
  static std::string last_error() { return std::string(" ") + tensorstat_last_error(); }
  const std::uint64_t mode_;
};

class CFloatModes : public testing::Test {
 protected:
  CFloatModes() {
    for (int i = 0; i < 200; ++i) {
      subnormals_.push_back(real(static_cast<std::uint64_t>(i + 1) | (i % 3 == 0 ? std::uint64_t{1} << 63 : 0)));
      numbers_.push_back(i / 7.0);
    }
    for (const char* run : {"a", "b"}) {
      for (int iteration = 0; iteration < 40; ++iteration) {
        const auto place = std::filesystem::path(folder_.path()) / run / "rank_0/net/0" / std::to_string(iteration);
        std::filesystem::create_directories(place);
        std::ofstream(place / "statistic.csv")
            << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,"
               "L2Norm Value\nAdd,add,0,0,"
            << 1000 + iteration << ",output,0,64,float64,\"(16)\","
            << (iteration == 30 ? "nan"
                : run[0] == 'a' ? "5e-324"
                                : "1.5e-323")
            << ",-1e-310," << iteration << "e-322\n";
      }
    }
  }

  void meter(Caller& caller) {
    tensorstat_meter* meter = nullptr;
    caller.code("open", [&] { return tensorstat_meter_open(nullptr, &meter); });
    const char* statistics =
        "max,min,avg,l2norm,l1norm,std,rms,absmax,sum of positives,sum of negatives,zero count,p50";
    for (const auto* data : {&subnormals_, &numbers_}) {
      tensorstat_tensor tensor = TENSORSTAT_TENSOR;
      tensor.dtype = tensorstat_dtype_named("float64");
      tensor.element_count = data->size();
      tensor.address = data->data();
      for (const std::uint64_t scale : {std::bit_cast<std::uint64_t>(1.0), std::uint64_t{1}}) {
        tensorstat_request request = TENSORSTAT_REQUEST;
        request.on = TENSORSTAT_ON_HOST;
        request.statistics = scale == 1 ? "float16 overflow,float16 underflow,e4m3fn underflow" : statistics;
        request.cast_scale = real(scale);
        tensorstat_result* result = nullptr;
        caller.code("measure", [&] { return tensorstat_measure(meter, &tensor, 1, &request, &result); });
        const auto* values = caller([&] { return tensorstat_result_values(result, 0); });
        const size_t count = tensorstat_result_statistic_count(result);
        for (size_t i = 0; i < count; ++i) caller.value("measured", values[i]);
        tensorstat_partial *partial = nullptr, *again = nullptr;
        caller.code("fold", [&] { return tensorstat_fold(meter, &tensor, 1, &request, &partial); });
        std::vector<char> bytes(1 << 16);
        size_t size = 0;
        caller.code("serialize",
                    [&] { return tensorstat_partial_serialize(partial, bytes.data(), bytes.size(), &size); });
        caller.code("parse", [&] { return tensorstat_partial_parse(bytes.data(), size, &again); });
        caller.code("merge", [&] { return tensorstat_partial_merge(partial, again); });
        for (size_t i = 0; i < count; ++i) {
          tensorstat_value value;
          caller.code("finish", [&] {
            return tensorstat_partial_finish(partial, tensorstat_result_statistic(result, i), &value);
          });
          caller.value("merged", value);
        }
        tensorstat_partial_free(partial);
        tensorstat_partial_free(again);
        tensorstat_result_free(result);
      }
      tensorstat_tensor other = tensor;
      other.address = numbers_.data();
      tensorstat_pair_request request = TENSORSTAT_PAIR_REQUEST;
      request.rtol = request.atol = real(1);
      tensorstat_pair* pair = nullptr;
      caller.code("compare", [&] { return tensorstat_compare(meter, &tensor, &other, 1, &request, &pair); });
      for (int32_t i = 0; pair != nullptr && tensorstat_pair_statistic_name(i) != nullptr; ++i) {
        tensorstat_value value;
        caller.code("pair", [&] { return tensorstat_pair_finish(pair, i, &value); });
        caller.value(tensorstat_pair_statistic_name(i), value);
      }
      tensorstat_pair_free(pair);
    }
    const std::string path = folder_ / "x.raw.npy";
    std::ofstream file(path, std::ios::binary);
    std::string head = "{'descr': '<f8', 'fortran_order': False, 'shape': (200,), }";
    head.resize(118, ' ');
    file << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << head.substr(0, 117) << "\n";
    file.write(reinterpret_cast<const char*>(subnormals_.data()), 1600);
    file.close();
    tensorstat_file* measured = nullptr;
    tensorstat_request request = TENSORSTAT_REQUEST;
    caller.code("file", [&] { return tensorstat_file_measure(meter, path.c_str(), &request, 0, &measured); });
    tensorstat_file_tensor tensor = TENSORSTAT_FILE_TENSOR;
    caller.code("tensor", [&] { return tensorstat_file_tensor_at(measured, 0, &tensor); });
    for (uint32_t i = 0; i < tensor.value_count; ++i) caller.value("of the file", tensor.values[i]);
    tensorstat_file_free(measured);
    caller([&] { return tensorstat_meter_close(meter), 0; });
  }

  void runs(Caller& caller) {
    const std::string a = folder_ / "a", b = folder_ / "b";
    tensorstat_answer* answer = nullptr;
    for (const std::uint64_t tolerance : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}}) {
      tensorstat_diff_options options = TENSORSTAT_DIFF_OPTIONS;
      options.rtol = real(0);
      options.atol = real(tolerance);
      caller.code("diff", [&] { return tensorstat_diff(a.c_str(), b.c_str(), &options, &answer); });
      caller.answer("diff", std::exchange(answer, nullptr));
    }
    caller.code("origin", [&] { return tensorstat_origin(a.c_str(), 0, &answer); });
    caller.answer("origin", std::exchange(answer, nullptr));
    tensorstat_findings_options options = TENSORSTAT_FINDINGS_OPTIONS;
    options.limits = "jump=1e-310";
    options.page = 1;
    caller.code("findings", [&] { return tensorstat_findings(a.c_str(), &options, &answer); });
    caller.answer("findings", std::exchange(answer, nullptr));
    std::vector<tensorstat_value> values;
    const auto each = [](void* context, const tensorstat_row* row) {
      auto& all = *static_cast<std::vector<tensorstat_value>*>(context);
      all.insert(all.end(), row->values, row->values + row->value_count);
      return 0;
    };
    caller.code("rows", [&] { return tensorstat_rows_read(a.c_str(), each, &values, nullptr); });
    for (const tensorstat_value& value : values) caller.value("row", value);
  }

  // A session writes what it was handed, on its own thread, and asks rules with subnormal limits.
  void session(Caller& caller) {
    const ScratchFolder output;
    const std::string config = R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + output.path() +
                               R"(", "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [],
        "support_device": [0], "saved_data": "statistic", "statistic_category": ["max", "min", "avg", "l2norm"]},
        "e2e_dump_settings": {"enable": true}})";
    const tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
    tensorstat_session* session = nullptr;
    caller.code("session", [&] { return tensorstat_session_from_json(config.c_str(), &options, &session); });
    tensorstat_alert_options alerts = TENSORSTAT_ALERT_OPTIONS;
    alerts.rules = "absmax>1e-321,max<1e-322";
    std::string told;
    alerts.on_alert = [](const char* alert, void* user) { *static_cast<std::string*>(user) += alert; };
    alerts.user = &told;
    caller.code("alerts", [&] { return tensorstat_session_set_alerts(session, &alerts); });
    for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
      const std::uint64_t shape[] = {100};
      tensorstat_tensor tensor = TENSORSTAT_TENSOR;
      tensor.dtype = tensorstat_dtype_named("float64");
      tensor.element_count = 100;
      tensor.address = subnormals_.data() + 30 * iteration;
      tensorstat_dump_tensor handed = TENSORSTAT_DUMP_TENSOR;
      handed.tensor = &tensor;
      handed.shape = shape;
      handed.dimension_count = 1;
      tensorstat_place place = TENSORSTAT_PLACE;
      place.iteration = iteration;
      const tensorstat_operator* op = caller([&] { return tensorstat_operator_named(session, "Op", "x", 0, 0, 0); });
      caller.code("collect", [&] { return tensorstat_collect(session, &place, op, &handed, 1, 0); });
      caller([&] { return tensorstat_step_end(session, &place); });
    }
    caller([&] { return tensorstat_session_end(session); });
    caller([&] { return tensorstat_session_close(session), 0; });
    for (const char* key : {"\"rule\":\"", "\"iteration\":"}) {
      for (auto offset = told.find(key); offset != told.npos; offset = told.find(key, offset + 1))
        caller.text += told.substr(offset, 40) + "\n";
    }
    std::vector<std::string> lines;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(output.path())) {
      if (entry.path().filename() != "statistic.csv") continue;
      const std::string content = content_of(entry.path());
      lines.push_back(content.substr(content.rfind("\"(100)\"") + 1));  // behind the time
    }
    std::ranges::sort(lines);
    for (const std::string& line : lines) caller.text += line;
    EXPECT_EQ(lines.size(), 3u);
  }

  std::string transcript(std::uint64_t mode) {
    Caller caller(mode);
    meter(caller);
    runs(caller);
    session(caller);
    return caller.text;
  }

  const ScratchFolder folder_;
  std::vector<double> subnormals_, numbers_;
};

TEST_F(CFloatModes, GiveTheSameInEveryMode) {
  std::vector<std::string> transcripts;
  for (const std::uint64_t mode : all_modes()) transcripts.push_back(transcript(mode));
  const std::string expected = transcript(test::float_control());
  EXPECT_NE(expected.find("5e-324"), expected.npos);
  for (size_t i = 0; i < transcripts.size(); ++i) {
    if (transcripts[i] == expected) continue;
    const auto offset = std::ranges::mismatch(transcripts[i], expected).in1 - transcripts[i].begin();
    const auto begin = static_cast<size_t>(std::max<std::ptrdiff_t>(offset - 200, 0));
    ADD_FAILURE() << "mode " << all_modes()[i] << ": " << transcripts[i].substr(begin, 300) << "\nmust be "
                  << expected.substr(begin, 300);
  }
}

}  // namespace c_float_modes_test
}  // namespace tensorstat
