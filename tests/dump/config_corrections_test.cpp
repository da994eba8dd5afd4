// Keys that contradict each other are corrected as in MindSpore. Each correction is reported once.
#include <gtest/gtest.h>

#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace config_corrections_test {

DumpConfig corrected(const std::string& common, const std::string& e2e, const std::string& words) {
  const auto got = parsed(config_text(common, e2e));
  EXPECT_TRUE(got.config) << got.error;
  EXPECT_TRUE(got.said_once(words)) << words;
  return got.config.value_or(DumpConfig{});
}

TEST(ConfigCorrections, OverflowAndExceptionDumpsTakeAllOperators) {
  for (const char* mode : {"3", "4"}) {
    const auto config = corrected(R"({"dump_mode": 1, "op_debug_mode": )" + std::string(mode) + "}", "{}",
                                  "dump_mode was 1 and is taken as 0");
    EXPECT_EQ(config.operators, nullptr) << "every operator";
  }
}

TEST(ConfigCorrections, OverflowDumpsTakeInputsAndOutputs) {
  EXPECT_EQ(corrected(R"({"op_debug_mode": 3, "input_output": 2})", "{}", "input_output was 2 and is taken as 0")
                .input_output,
            InputOutput::kBoth);
}

TEST(ConfigCorrections, OldOverflowModesMean3) {
  for (const char* mode : {"1", "2"}) {
    EXPECT_EQ(corrected(R"({"op_debug_mode": )" + std::string(mode) + "}", "{}", "is taken as 3").op_debug_mode,
              DebugMode::kOverflow);
  }
}

TEST(ConfigCorrections, DeviceStatisticsOnlyWhereStatisticsAreAllThatIsSaved) {
  for (const char* saved : {"tensor", "full"}) {
    EXPECT_FALSE(corrected(R"({"saved_data": ")" + std::string(saved) + "\"}", R"({"stat_calc_mode": "device"})",
                           "stat_calc_mode was device and is taken as host")
                     .on_device);
  }
}

TEST(ConfigCorrections, OverflowDumpsKeepToTheHost) {
  for (const char* enable : {"true", "false"}) {
    EXPECT_FALSE(corrected(R"({"saved_data": "statistic", "op_debug_mode": 3})",
                           R"({"stat_calc_mode": "device", "enable": )" + std::string(enable) + "}",
                           "stat_calc_mode was device and is taken as host")
                     .on_device);
  }
}

TEST(ConfigCorrections, WhatOverflowDumpsMayKeep) {
  const auto got = parsed(config_text(R"({"saved_data": "full", "op_debug_mode": 3})", R"({"sample_mode": 1})"));
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->saved_data, SavedData::kFull);
  EXPECT_EQ(got.config->sample_num, 100u);
  EXPECT_EQ(got.messages.size(), 1u);
  EXPECT_TRUE(got.said_once("statistics and samples with op_debug_mode 3 are written"));
  const auto tensors = parsed(config_text(R"({"saved_data": "tensor", "op_debug_mode": 3})", "{}"));
  EXPECT_EQ(tensors.messages, std::vector<std::string>{});
}

TEST(ConfigCorrections, ExceptionDumpsAreWholeInputTensorsOfAnyIteration) {
  const std::string common = R"({"op_debug_mode": 4, "iteration": "3", "saved_data": "full", "input_output": 2})";
  for (const char* words :
       {"iteration was a selection and is taken as all", "sample_mode was 1 and is taken as 0",
        "saved_data was with statistics and is taken as tensor", "input_output was 2 and is taken as 1"}) {
    const auto config = corrected(common, R"({"sample_mode": 1})", words);
    EXPECT_TRUE(config.iteration.all());
    EXPECT_FALSE(config.sample_num);
    EXPECT_EQ(config.saved_data, SavedData::kTensor);
    EXPECT_EQ(config.input_output, InputOutput::kInputs);
  }
}

TEST(ConfigCorrections, KernelArgumentsOnlyInSynchronousDumps) {
  EXPECT_FALSE(corrected("{}", R"({"enable": false, "save_kernel_args": true})",
                         "save_kernel_args was true and is taken as false")
                   .save_kernel_args);
}

TEST(ConfigCorrections, Oddities) {
  corrected(R"({"support_device": [1, 1]})", "{}", "support_device has a device more than once");
  corrected(R"({"dump_mode": 1, "kernels": ["add", "add"]})", "{}", "kernels has \"add\" more than once");
  corrected(R"({"iteration": "1|5-"})", "{}", "the part \"5-\" selects no step");
  corrected(R"({"file_format": "npy"})", "{}", "file_format is not read");
}

}  // namespace config_corrections_test
}  // namespace tensorstat
