// Through C: the last number of each enumeration is taken, and the number behind it and -1 are refused by the field's
// name.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <string>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_enumerations_test {

class CEnumerations : public ::testing::Test {
 protected:
  CEnumerations() {
    tensor_.dtype = tensorstat_dtype_named("float32");
    tensor_.element_count = 3;
    tensor_.address = values_;
  }

  // `call` gives a field the number and returns what the library says.
  template <typename Call>
  void refuses(const std::string& field, std::int32_t last, const Call& call) {
    EXPECT_NE(call(last), TENSORSTAT_INVALID) << field << ": " << tensorstat_last_error();
    for (const std::int32_t number : {last + 1, -1}) {
      EXPECT_EQ(call(number), TENSORSTAT_INVALID) << field << " " << number;
      const std::string words = field + " is " + std::to_string(number) + "; it can be 0 to " + std::to_string(last);
      EXPECT_NE(std::string(tensorstat_last_error()).find(words), std::string::npos) << tensorstat_last_error();
    }
  }

  const float values_[3] = {1, 2, 3};
  tensorstat_tensor tensor_ = TENSORSTAT_TENSOR;
};

TEST_F(CEnumerations, OfTensorsAndRequests) {
  tensorstat_meter* meter = nullptr;
  ASSERT_EQ(tensorstat_meter_open(nullptr, &meter), TENSORSTAT_OK);
  tensorstat_request request = TENSORSTAT_REQUEST;
  const auto measure = [&] {
    tensorstat_result* result = nullptr;
    const tensorstat_code code = tensorstat_measure(meter, &tensor_, 1, &request, &result);
    tensorstat_result_free(result);
    return code;
  };
  tensor_.element_count = 0;  // so that no memory is looked at, wherever it is said to lie
  refuses("where", TENSORSTAT_ROCM, [&](std::int32_t number) { return tensor_.where = number, measure(); });
  tensor_.where = TENSORSTAT_HOST;
  tensor_.element_count = 3;
  refuses("precision", TENSORSTAT_LOW, [&](std::int32_t number) { return request.precision = number, measure(); });
  request.precision = TENSORSTAT_HIGH;
  refuses("on", TENSORSTAT_ON_DEVICE, [&](std::int32_t number) { return request.on = number, measure(); });

  tensorstat_pair_request of_pair = TENSORSTAT_PAIR_REQUEST;
  const auto compare = [&] {
    tensorstat_pair* pair = nullptr;
    const tensorstat_code code = tensorstat_compare(meter, &tensor_, &tensor_, 1, &of_pair, &pair);
    tensorstat_pair_free(pair);
    return code;
  };
  refuses("on", TENSORSTAT_ON_DEVICE, [&](std::int32_t number) { return of_pair.on = number, compare(); });
  of_pair.on = TENSORSTAT_ON_HOST;
  refuses("scale", TENSORSTAT_SCALE_GREATER, [&](std::int32_t number) { return of_pair.scale = number, compare(); });
  tensorstat_meter_close(meter);
}

TEST_F(CEnumerations, OfSessionsAndTheirTensors) {
  const ScratchFolder folder;
  const std::string config = R"({"common_dump_settings": {"dump_mode": 0, "path": ")" + folder.path() +
                             R"(", "net_name": "Net", "iteration": "all", "input_output": 0, "kernels": [],
      "support_device": [0], "saved_data": "statistic"}, "e2e_dump_settings": {"enable": true, "stat_calc_mode": "host"}})";
  tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
  tensorstat_session* session = nullptr;
  const auto open = [&] {
    tensorstat_session_close(session);
    session = nullptr;
    return tensorstat_session_from_json(config.c_str(), &options, &session);
  };
  refuses("dialect", TENSORSTAT_DIALECT_MSPROBE_O2,
          [&](std::int32_t number) { return options.dialect = number, open(); });
  options.dialect = TENSORSTAT_DIALECT_OURS;
  refuses("layout", TENSORSTAT_BY_STEP, [&](std::int32_t number) { return options.layout = number, open(); });
  options.layout = TENSORSTAT_BY_RANK;
  refuses("sync", TENSORSTAT_SYNC_ROW, [&](std::int32_t number) { return options.sync = number, open(); });
  options.sync = TENSORSTAT_SYNC_NEVER;
  ASSERT_EQ(open(), TENSORSTAT_OK) << tensorstat_last_error();

  const tensorstat_operator* op = tensorstat_operator_named(session, "Op", "x", 0, 0, 0);
  const tensorstat_place place = TENSORSTAT_PLACE;
  tensorstat_dump_tensor handed = TENSORSTAT_DUMP_TENSOR;
  handed.tensor = &tensor_;
  handed.shape = &tensor_.element_count;
  handed.dimension_count = 1;
  const auto collect = [&] { return tensorstat_collect(session, &place, op, &handed, 1, 0); };
  refuses("io", TENSORSTAT_OUTPUT, [&](std::int32_t number) { return handed.io = number, collect(); });
  handed.io = TENSORSTAT_OUTPUT;
  refuses("stored", TENSORSTAT_COMPLEX128, [&](std::int32_t number) { return handed.stored = number, collect(); });
  tensorstat_session_close(session);
}

}  // namespace c_enumerations_test
}  // namespace tensorstat
