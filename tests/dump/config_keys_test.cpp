// Every key accepts the allowed values and has its default. Other values are refused with a message that names key and
// value.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace config_keys_test {

TEST(ConfigKeys, DefaultsOfWhatIsOptional) {
  const auto got = parsed(config_text("{}", "{}"));
  ASSERT_TRUE(got.config) << got.error;
  const DumpConfig& config = *got.config;
  EXPECT_EQ(config.op_debug_mode, DebugMode::kNormal);
  EXPECT_EQ(config.saved_data, SavedData::kTensor);
  EXPECT_EQ(config.overflow_number, 0u);
  EXPECT_EQ(config.initial_iteration, 0u);
  EXPECT_TRUE(config.trans_flag);
  EXPECT_FALSE(config.save_kernel_args);
  EXPECT_FALSE(config.on_device);
  EXPECT_EQ(config.device_stat_precision_mode, Precision::kHigh);
  EXPECT_FALSE(config.sample_num);
  EXPECT_FALSE(parsed(config_text("{}", R"({"enable": null})")).config->enable);
  EXPECT_EQ(parsed(config_text("{}", R"({"sample_mode": 1})")).config->sample_num, 100u);
}

TEST(ConfigKeys, EveryAllowedValueArrives) {
  const auto common = [](const std::string& text) {
    const auto got = parsed(config_text(text));
    EXPECT_TRUE(got.config) << got.error;
    return *got.config;
  };
  const auto e2e = [](const std::string& text) {
    const auto got = parsed(config_text(R"({"saved_data": "statistic"})", text));
    EXPECT_TRUE(got.config) << got.error;
    return *got.config;
  };
  const auto wants = [&](const std::string& text, const AskedOperator& op) {
    return common(text).operators->wants(op);
  };
  EXPECT_EQ(common(R"({"dump_mode": 0, "kernels": ["Add"]})").operators, nullptr) << "every operator";
  EXPECT_TRUE(wants(R"({"dump_mode": 1, "kernels": ["Add"]})", {"Add", "net/Add-op1"}));
  EXPECT_FALSE(wants(R"({"dump_mode": 1, "kernels": ["Add"]})", {"Mul", "net/Mul-op1", true}));
  EXPECT_TRUE(wants(R"({"dump_mode": 2})", {"Mul", "net/Mul-op1", true}));
  EXPECT_FALSE(wants(R"({"dump_mode": 2})", {"Mul", "net/Mul-op1", false}));
  EXPECT_EQ(common(R"({"input_output": 1})").input_output, InputOutput::kInputs);
  EXPECT_EQ(common(R"({"input_output": 2})").input_output, InputOutput::kOutputs);
  EXPECT_EQ(common(R"({"op_debug_mode": 3})").op_debug_mode, DebugMode::kOverflow);
  EXPECT_EQ(common(R"({"op_debug_mode": 4})").op_debug_mode, DebugMode::kException);
  EXPECT_EQ(common(R"({"saved_data": "statistic"})").saved_data, SavedData::kStatistic);
  EXPECT_EQ(common(R"({"saved_data": "full"})").saved_data, SavedData::kFull);
  EXPECT_EQ(common(R"({"support_device": [3, 1]})").support_device, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(common(R"({"support_device": []})").support_device->size(), 0u);
  EXPECT_EQ(common(R"({"op_debug_mode": 3, "overflow_number": 7})").overflow_number, 7u);
  EXPECT_EQ(common(R"({"initial_iteration": 4294967295})").initial_iteration, 4294967295u);
  EXPECT_EQ(common(R"({"path": "/a-b/c_D9"})").path, "/a-b/c_D9");
  EXPECT_EQ(common(R"({"net_name": "net-1_X"})").net_name, "net-1_X");
  EXPECT_FALSE(e2e(R"({"enable": false})").enable);
  EXPECT_FALSE(e2e(R"({"trans_flag": false})").trans_flag);
  EXPECT_TRUE(e2e(R"({"save_kernel_args": true})").save_kernel_args);
  EXPECT_TRUE(e2e(R"({"stat_calc_mode": "device"})").on_device);
  EXPECT_EQ(e2e(R"({"device_stat_precision_mode": "low"})").device_stat_precision_mode, Precision::kLow);
  EXPECT_EQ(e2e(R"({"sample_mode": 1, "sample_num": 7})").sample_num, 7u);
  EXPECT_FALSE(e2e(R"({"sample_mode": 0, "sample_num": 0})").sample_num) << "not read then";
}

TEST(ConfigKeys, StatisticCategoryInTheUsersOrder) {
  const auto categories = [](const std::string& list) {
    const auto got = parsed(config_text(R"({"saved_data": "full", "statistic_category": )" + list + "}"));
    EXPECT_TRUE(got.config) << got.error;
    return got.config ? got.config->statistic_category : Categories{};
  };
  EXPECT_EQ(categories(R"(["md5", "negative zero count", "max", "hash:md5"])"),
            (Categories{Category::kMd5, Category::kNegativeZeroCount, Category::kMax, Category::kMd5}));
  EXPECT_EQ(categories("[]"), Categories{});
  EXPECT_EQ(categories("null"), (Categories{Category::kMax, Category::kMin, Category::kL2norm}));
  for (const Category category : all_categories()) {
    EXPECT_EQ(categories("[\"" + std::string(name(category)) + "\"]"), Categories{category});
  }
  if (const auto sha1 = category_from("hash")) {
    EXPECT_EQ(categories(R"(["hash", "hash:sha1"])"), (Categories{*sha1, *sha1}));
  }
}

TEST(ConfigKeys, NotReadWhereItMeansNothing) {
  EXPECT_TRUE(parsed(config_text(R"({"statistic_category": ["nonsense"]})")).config);
  EXPECT_TRUE(parsed(config_text(R"({"kernels": [{}, 5]})")).config);
  EXPECT_TRUE(parsed(config_text(R"({"file_format": "nonsense"})")).config);
}

TEST(ConfigKeys, PathFallsBackOnTheEnvironment) {
  for (const char* path : {R"({"path": null})", R"({"path": ""})"}) {
    EXPECT_EQ(parsed(config_text(path), "/diagnostic").config->path, "/diagnostic/debug_dump");
    EXPECT_NE(parsed(config_text(path), "").error.find("MS_DIAGNOSTIC_DATA_PATH"), std::string::npos);
    EXPECT_NE(parsed(config_text(path), "rel").error.find("\"rel\""), std::string::npos);
  }
  EXPECT_EQ(parsed(config_text("{}"), "/diagnostic").config->path, "/absolute_path");
}

TEST(ConfigKeys, TheCallersPathStandsInForOneThatIsMissing) {
  Notices silent(nullptr);
  const auto path = [&](const char* common) {
    const auto config = parse_config(config_text(common), {"", "/callers own.path"}, silent);
    return config ? config->path : config.error().message;
  };
  EXPECT_EQ(path(R"({"path": null})"), "/callers own.path");
  EXPECT_EQ(path(R"({"path": ""})"), "/callers own.path");
  EXPECT_EQ(path("{}"), "/absolute_path");
  EXPECT_NE(path(R"({"path": "relative"})").find(".path is \"relative\""), std::string::npos);
}

TEST(ConfigKeys, TextsHaveALimit) {
  EXPECT_TRUE(parsed(config_text(R"({"net_name": ")" + std::string(255, 'n') + "\"}")).config);
  EXPECT_FALSE(parsed(config_text(R"({"net_name": ")" + std::string(256, 'n') + "\"}")).config);
  nlohmann::json keys{{"saved_data", "full"}, {"statistic_category", std::vector<std::string>(256, "max")}};
  EXPECT_TRUE(parsed(config_text(keys.dump())).config);
  keys["statistic_category"].push_back("max");
  EXPECT_NE(parsed(config_text(keys.dump())).error.find("at most 256"), std::string::npos);
}

struct Wrong {
  const char* common;
  const char* e2e;
  const char* key;
  const char* value;
  const char* allowed;
};

TEST(ConfigKeys, WrongValuesAreNamedWithWhatIsAllowed) {
  const Wrong wrongs[] = {
      {R"({"dump_mode": 3})", "{}", ".dump_mode", "3", "1 (those of kernels)"},
      {R"({"dump_mode": -1})", "{}", ".dump_mode", "-1", "0"},
      {R"({"dump_mode": 1.0})", "{}", ".dump_mode", "1.0", "0"},
      {R"({"dump_mode": "1"})", "{}", ".dump_mode", "\"1\"", "0"},
      {R"({"dump_mode": true})", "{}", ".dump_mode", "true", "0"},
      {R"({"dump_mode": null})", "{}", ".dump_mode", "missing", "0"},
      {R"({"path": "relative"})", "{}", ".path", "\"relative\"", "absolute"},
      {R"({"path": "/with.dot"})", "{}", ".path", "/with.dot", "letters"},
      {R"({"path": "/with space"})", "{}", ".path", "/with space", "letters"},
      {R"({"path": "/../up"})", "{}", ".path", "/../up", "letters"},
      {R"({"path": 7})", "{}", ".path", "7", "absolute"},
      {R"({"net_name": null})", "{}", ".net_name", "missing", "letters"},
      {R"({"net_name": ""})", "{}", ".net_name", "\"\"", "1 to 255 letters"},
      {R"({"net_name": "a/b"})", "{}", ".net_name", "a/b", "letters"},
      {R"({"net_name": ["a"]})", "{}", ".net_name", "[\"a\"]", "letters"},
      {R"({"iteration": null})", "{}", ".iteration", "missing", "\"all\""},
      {R"({"iteration": 5})", "{}", ".iteration", "5", "\"all\""},
      {R"({"iteration": "All"})", "{}", ".iteration", "\"All\"", "\"all\""},
      {R"({"iteration": ""})", "{}", ".iteration", "\"\"", "0|5-8|100-120"},
      {R"({"input_output": null})", "{}", ".input_output", "missing", "2 (outputs)"},
      {R"({"input_output": 3})", "{}", ".input_output", "3", "2 (outputs)"},
      {R"({"kernels": null})", "{}", ".kernels", "missing", "list"},
      {R"({"kernels": "Conv"})", "{}", ".kernels", "\"Conv\"", "list"},
      {R"({"dump_mode": 1, "kernels": [5]})", "{}", ".kernels", "[5]", "name-regex"},
      {R"J({"dump_mode": 1, "kernels": ["name-regex(()"]})J", "{}", ".kernels", "name-regex(()", "without its )"},
      {R"({"support_device": 0})", "{}", ".support_device", "0", "list"},
      {R"({"support_device": ["0"]})", "{}", ".support_device", "[\"0\"]", "list"},
      {R"({"support_device": [-1]})", "{}", ".support_device", "[-1]", "list"},
      {R"({"op_debug_mode": 5})", "{}", ".op_debug_mode", "5", "3 (operators that overflow)"},
      {R"({"saved_data": "all"})", "{}", ".saved_data", "\"all\"", "\"statistic\""},
      {R"({"saved_data": 1})", "{}", ".saved_data", "1", "\"full\""},
      {R"({"saved_data": "full", "statistic_category": ["max", "Max", 5]})", "{}", ".statistic_category", "\"Max\", 5",
       "\"positive zero count\""},
      {R"({"saved_data": "full", "statistic_category": ["sha1"]})", "{}", ".statistic_category", "\"sha1\"",
       "\"hash:md5\", \"hash:sha1\""},
      {R"({"saved_data": "full", "statistic_category": "max"})", "{}", ".statistic_category", "\"max\"", "list"},
      {R"({"overflow_number": 1})", "{}", ".overflow_number", "1", "op_debug_mode is 3"},
      {R"({"op_debug_mode": 3, "overflow_number": -1})", "{}", ".overflow_number", "-1", "whole"},
      {R"({"initial_iteration": 4294967296})", "{}", ".initial_iteration", "4294967296", "4294967295"},
      {R"({"file_format": "csv"})", "null", ".file_format", "\"csv\"", "\"npy\""},
      {R"({"saved_data": "statistic"})", "null", ".saved_data", "\"statistic\"", "file_format \"npy\""},
      {"{}", R"({"enable": 1})", "e2e_dump_settings.enable", "1", "true or false"},
      {"{}", R"({"trans_flag": "true"})", ".trans_flag", "\"true\"", "true or false"},
      {"{}", R"({"save_kernel_args": 0})", ".save_kernel_args", "0", "true or false"},
      {"{}", R"({"stat_calc_mode": "gpu"})", ".stat_calc_mode", "\"gpu\"", "\"device\""},
      {"{}", R"({"device_stat_precision_mode": "mid"})", ".device_stat_precision_mode", "\"mid\"", "\"high\""},
      {"{}", R"({"sample_mode": 2})", ".sample_mode", "2", "1 (samples)"},
      {"{}", R"({"sample_mode": 1, "sample_num": 0})", ".sample_num", "0", "from 1"},
      {"{}", R"({"sample_mode": 1, "sample_num": "9"})", ".sample_num", "\"9\"", "from 1"}};
  for (const Wrong& wrong : wrongs) {
    const auto got = parsed(config_text(wrong.common, wrong.e2e));
    EXPECT_FALSE(got.config) << wrong.common << wrong.e2e;
    for (const char* word : {wrong.key, wrong.value, wrong.allowed}) {
      EXPECT_NE(got.error.find(word), std::string::npos) << word << " not in: " << got.error;
    }
  }
}

TEST(ConfigKeys, TheTwoObjects) {
  EXPECT_NE(parsed("{}").error.find("MindSpore's data_dump.json has common_dump_settings"), std::string::npos);
  EXPECT_NE(parsed("[]").error.find("not a JSON object"), std::string::npos);
  EXPECT_NE(parsed(R"({"common_dump_settings": 5})").error.find("is 5"), std::string::npos);
  auto text = config_text("{}", "null");
  text.insert(1, R"("e2e_dump_settings": [],)");
  EXPECT_NE(parsed(text).error.find("e2e_dump_settings is []"), std::string::npos);
}

}  // namespace config_keys_test
}  // namespace tensorstat
