// Through C: a session with msprobe's config, the caller's framework name, stacks and modules; every dialect of rows by
// its number; and rows like those of MindSpore's device.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <nlohmann/json.hpp>

#include "tests/support/json_text.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace c_dialects_test {

class CDialects : public testing::Test {
 protected:
  ~CDialects() override { tensorstat_session_close(session_); }

  tensorstat_code open(const nlohmann::json& config) {
    return tensorstat_session_from_json(config.dump().c_str(), &options_, &session_);
  }

  void collect(const tensorstat_operator* op, std::int32_t dtype, const void* data, std::uint64_t count) {
    tensorstat_tensor tensor = TENSORSTAT_TENSOR;
    tensor.dtype = dtype;
    tensor.element_count = count;
    tensor.address = data;
    tensorstat_dump_tensor handed = TENSORSTAT_DUMP_TENSOR;
    handed.tensor = &tensor;
    handed.shape = &count;
    handed.dimension_count = 1;
    handed.requires_grad = requires_grad_;
    EXPECT_EQ(tensorstat_collect(session_, &place_, op, &handed, 1, 0), TENSORSTAT_OK) << tensorstat_last_error();
  }

  nlohmann::json mindspore(const char* mode) const {
    return {{"common_dump_settings",
             {{"dump_mode", 0},
              {"path", folder_.path()},
              {"net_name", "Net"},
              {"iteration", "all"},
              {"input_output", 0},
              {"kernels", nlohmann::json::array()},
              {"support_device", {0}},
              {"saved_data", "statistic"},
              {"statistic_category", {"max", "l2norm"}}}},
            {"e2e_dump_settings", {{"enable", true}, {"stat_calc_mode", mode}}}};
  }

  const ScratchFolder folder_;
  tensorstat_session_options options_ = TENSORSTAT_SESSION_OPTIONS;
  tensorstat_session* session_ = nullptr;
  tensorstat_place place_ = TENSORSTAT_PLACE;
  const float values_[3] = {1, 2, 3};
  std::int32_t requires_grad_ = 0;
};

TEST_F(CDialects, FrameworkStackAndModuleReachMsprobesFiles) {
  options_.framework = "pytorch";
  ASSERT_EQ(open({{"task", "statistics"}, {"dump_path", folder_.path()}, {"level", "L0"}}), TENSORSTAT_OK)
      << tensorstat_last_error();
  const char* const name = "Module.fc.Linear.forward.0";
  const tensorstat_operator* op = tensorstat_operator_named(session_, "Linear", name, 0, 0, 0);
  const char* const stack[] = {"File model.py, line 3, in forward", "File train.py, line 9, in step"};
  EXPECT_EQ(tensorstat_describe(session_, op, stack, 2, "Module.net.Net.forward.0"), TENSORSTAT_OK);
  EXPECT_EQ(tensorstat_describe(session_, op, nullptr, 2, ""), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_describe(nullptr, op, nullptr, 0, nullptr), TENSORSTAT_INVALID);
  requires_grad_ = 1;
  collect(op, tensorstat_dtype_named("float32"), values_, 3);
  EXPECT_TRUE(tensorstat_step_end(session_, &place_));
  const auto json = [&](const char* file) {
    return test::parsed_json(content_of(folder_ / ("step0/rank0/" + std::string(file))));
  };
  EXPECT_EQ(json("dump.json").at("framework"), "pytorch");
  EXPECT_EQ(json("dump.json").at("data").at(name).at("output").at(0).at("dtype"), "torch.float32");
  EXPECT_EQ(json("dump.json").at("data").at(name).at("output").at(0).at("requires_grad"), true);
  EXPECT_EQ(json("construct.json").at(name), "Module.net.Net.forward.0");
  EXPECT_EQ(json("stack.json").at("0").at(1), nlohmann::json(stack));
}

TEST_F(CDialects, AreNumberedAsInTheList) {
  options_.dialect = TENSORSTAT_DIALECT_MSPROBE_O2;
  ASSERT_EQ(open(mindspore("host")), TENSORSTAT_OK) << tensorstat_last_error();
  collect(tensorstat_operator_named(session_, "Op", "x", 0, 0, 0), tensorstat_dtype_named("float32"), values_, 3);
  EXPECT_TRUE(tensorstat_step_end(session_, &place_));
  EXPECT_NE(content_of(folder_ / "rank_0/Net/0/0/statistic.csv").find("Timestamp,Input/Output,Slot"),
            std::string::npos);
}

// A config without e2e_dump_settings is one of O2, whose documents have 65535 for an id that is unknown.
TEST_F(CDialects, AnUnknownIdIsNotZero) {
  nlohmann::json config = mindspore("host");
  config.erase("e2e_dump_settings");
  config["common_dump_settings"]["file_format"] = "npy";
  ASSERT_EQ(open(config), TENSORSTAT_OK) << tensorstat_last_error();
  collect(tensorstat_operator_named(session_, "Op", "x", 0, 0, TENSORSTAT_NO_ID), tensorstat_dtype_named("float32"),
          values_, 3);
  EXPECT_TRUE(tensorstat_session_flush(session_));
  EXPECT_NE(content_of(folder_ / "rank_0/Net/0/0/statistic.csv").find("\nOp,x,65535,0,"), std::string::npos);
}

TEST_F(CDialects, WhatNoSessionCanWriteIsRefusedWithTheReason) {
  options_.dialect = TENSORSTAT_DIALECT_CANN;
  EXPECT_EQ(open(mindspore("host")), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("cann"), std::string::npos) << tensorstat_last_error();
  options_.dialect = 5;
  EXPECT_EQ(open(mindspore("host")), TENSORSTAT_INVALID);
  EXPECT_STREQ(tensorstat_last_error(), "dialect is 5; it can be 0 to 4");
}

TEST_F(CDialects, RowsOfTheDeviceAreAskedFor) {
  options_.device_rows = 1;
  ASSERT_EQ(open(mindspore("device")), TENSORSTAT_OK) << tensorstat_last_error();
  const std::uint8_t truths[] = {0, 1};
  collect(tensorstat_operator_named(session_, "Op", "x", 0, 0, 0), tensorstat_dtype_named("bool"), truths, 2);
  EXPECT_TRUE(tensorstat_step_end(session_, &place_));
  EXPECT_NE(content_of(folder_ / "rank_0/Net/0/0/statistic.csv").find(",True,null,\n"), std::string::npos);
}

}  // namespace c_dialects_test
}  // namespace tensorstat
