// The configs in MindSpore's documentation are accepted unchanged.
#include <gtest/gtest.h>

#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace config_documented_test {

const std::string kCommon = R"({
    "common_dump_settings": {
        "op_debug_mode": 0,
        "dump_mode": 0,
        "path": "/absolute_path",
        "net_name": "ResNet50",
        "iteration": "0|5-8|100-120",
        "saved_data": "tensor",
        "input_output": 0,
        "kernels": ["Default/Conv-op12"],
        "support_device": [0,1,2,3,4,5,6,7],
        "statistic_category": ["max", "min", "l2norm"])";

TEST(ConfigDocumented, AscendO0O1) {
  const auto got = parsed(kCommon + R"(
    },
    "e2e_dump_settings": {
        "enable": true,
        "trans_flag": true,
        "stat_calc_mode": "host"
    }
})");
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_EQ(got.messages, std::vector<std::string>{});
  EXPECT_EQ(got.config->op_debug_mode, DebugMode::kNormal);
  EXPECT_EQ(got.config->operators, nullptr) << "every operator";
  EXPECT_EQ(got.config->path, "/absolute_path");
  EXPECT_EQ(got.config->net_name, "ResNet50");
  EXPECT_TRUE(got.config->iteration.contains(7));
  EXPECT_FALSE(got.config->iteration.contains(9));
  EXPECT_EQ(got.config->saved_data, SavedData::kTensor);
  EXPECT_EQ(got.config->input_output, InputOutput::kBoth);
  EXPECT_EQ(got.config->support_device, (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(got.config->statistic_category, (Categories{Category::kMax, Category::kMin, Category::kL2norm}));
  EXPECT_TRUE(got.config->enable);
  EXPECT_TRUE(got.config->trans_flag);
  EXPECT_FALSE(got.config->on_device);
  EXPECT_EQ(got.config->overflow_number, 0u);
  EXPECT_EQ(got.config->initial_iteration, 0u);
}

TEST(ConfigDocumented, AscendO2) {
  const auto got = parsed(kCommon + R"(,
        "file_format": "npy"
    }
})");
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_FALSE(got.config->enable);
  EXPECT_EQ(got.messages, std::vector<std::string>{});
}

TEST(ConfigDocumented, CpuAndGpuWithTheTrailingCommaOfTheDocument) {
  const std::string rest = R"(
    },
    "e2e_dump_settings": {
        "enable": true,
        "trans_flag": true,
    }
})";
  const auto got = parsed(kCommon + rest);
  ASSERT_FALSE(got.config);
  EXPECT_NE(got.error.find("line 17, column 5"), std::string::npos) << got.error;
  EXPECT_NE(got.error.find("unexpected '}'"), std::string::npos) << got.error;
  EXPECT_NE(got.error.find("remove the trailing comma before it"), std::string::npos) << got.error;
  std::string without_comma = rest;
  without_comma.erase(without_comma.rfind(','), 1);
  EXPECT_TRUE(parsed(kCommon + without_comma).config);
}

TEST(ConfigDocumented, Release15) {
  const auto got = parsed(R"({
    "common_dump_settings": {
        "dump_mode": 0,
        "path": "/absolute_path",
        "net_name": "ResNet50",
        "iteration": "0|5-8|100-120",
        "input_output": 0,
        "kernels": ["Default/Conv-op12"],
        "support_device": [0,1,2,3,4,5,6,7],
        "op_debug_mode": 0
    }
})");
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_TRUE(got.config->saves_runs) << "file_format is bin where nothing is said";
  EXPECT_FALSE(got.config->trans_flag) << "and that is in the device's format";
}

TEST(ConfigDocumented, IterationWithSpacesAndNoSupportDevice) {
  const auto got = parsed(config_text(R"({"iteration": "0 | 5-8 | 100-120"})"));
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_TRUE(got.config->iteration.contains(110));
  EXPECT_EQ(got.config->support_device->size(), 8u);
}

}  // namespace config_documented_test
}  // namespace tensorstat
