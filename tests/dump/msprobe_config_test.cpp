// Every key and rule of msprobe's config.json, as in its guide.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "tests/support/config_text.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {
namespace msprobe_config_test {

// The default config with some keys changed; `task` is merged into the task's section.
std::string msprobe_text(const std::string& common, const std::string& task = "{}") {
  auto root = test::parsed_json(R"({"task": "statistics", "dump_path": "/dumps/run", "rank": [], "step": [],
    "level": "L1", "extra_info": true, "async_dump": false,
    "statistics": {"scope": [], "list": [], "data_mode": ["all"], "summary_mode": "statistics"},
    "tensor": {"scope": [], "list": [], "data_mode": ["all"]}})");
  root.merge_patch(test::parsed_json(common));
  root[root.value("task", "statistics")].merge_patch(test::parsed_json(task));
  return root.dump(2);
}

DumpConfig accepted(const std::string& common, const std::string& task = "{}") {
  const auto got = parsed(msprobe_text(common, task));
  EXPECT_TRUE(got.config) << common << task << ": " << got.error;
  return got.config.value_or(DumpConfig{});
}

std::string refused(const std::string& common, const std::string& task = "{}") {
  const auto got = parsed(msprobe_text(common, task));
  EXPECT_FALSE(got.config) << common << task;
  return got.error;
}

bool wants(const DumpConfig& config, const char* name, const char* type = "Op") {
  return config.operators == nullptr || config.operators->wants({type, name});
}

TEST(MsprobeConfig, TheShippedDefault) {
  const auto config = accepted("{}");
  EXPECT_EQ(config.path, "/dumps/run");
  EXPECT_TRUE(config.ranks.all());
  EXPECT_TRUE(config.iteration.all());
  EXPECT_TRUE(config.enable) << "step_end returns when the step is on disk, as step() does";
  EXPECT_EQ(config.saved_data, SavedData::kStatistic);
  EXPECT_EQ(config.input_output, InputOutput::kBoth);
  EXPECT_FALSE(config.support_device) << "every device";
  EXPECT_TRUE(wants(config, "Functional.conv2d.0.forward"));
  EXPECT_FALSE(wants(config, "Module.conv1.Conv2d.forward.0")) << "level L1";
  EXPECT_TRUE(wants(config, "Default/net/Conv2D-op1", "Conv2D"));
}

TEST(MsprobeConfig, EveryKeyMayBeMissingButThePath) {
  const auto least = parsed(R"({"dump_path": "/d"})");
  ASSERT_TRUE(least.config) << least.error;
  EXPECT_TRUE(least.messages.empty());
  EXPECT_NE(parsed(R"({"task": "statistics"})").error.find("config.json.dump_path is missing"), std::string::npos);
  Notices silent(nullptr);
  EXPECT_EQ(parse_config(R"({"task": "tensor"})", {"", "/callers"}, silent)->path, "/callers");
}

TEST(MsprobeConfig, ARelativePathIsOfTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(accepted(R"({"dump_path": "./dump_path"})").path, here + "/dump_path");
  EXPECT_EQ(accepted(R"({"dump_path": "/a/../b/"})").path, "/b");
  EXPECT_NE(refused("{\"dump_path\": \"/a\\u0007\"}").find("control characters"), std::string::npos);
  EXPECT_NE(refused(R"({"dump_path": ")" + std::string(4097, 'x') + "\"}").find("4096"), std::string::npos);
  EXPECT_NE(refused(R"({"dump_path": 7})").find("config.json.dump_path is 7"), std::string::npos);
}

TEST(MsprobeConfig, RanksAndStepsAreNumbersAndRanges) {
  for (const std::string key : {"rank", "step"}) {
    const auto numbers = [&](const std::string& list) {
      const auto config = accepted("{\"" + key + "\": " + list + "}");
      return key == "rank" ? config.ranks : config.iteration;
    };
    EXPECT_TRUE(numbers("[]").all());
    EXPECT_TRUE(numbers("null").all());
    const auto some = numbers(R"([7, "3", "5-6", 7])");
    for (const std::uint64_t n : {0, 1, 2, 3, 4, 5, 6, 7, 8})
      EXPECT_EQ(some.contains(n), n == 3 || (n >= 5 && n <= 7)) << n;
    EXPECT_TRUE(numbers("[1000000]").contains(1000000));
    for (const std::string wrong : {"[1000001]", "[-1]", "[1.5]", "[true]", "[\"6-5\"]", "[\"5-\"]", "[\"-5\"]",
                                    "[\" 5\"]", "[\"a\"]", "[\"\"]", "[[1]]", "3", "\"3\"", "[\"1-2-3\"]"}) {
      EXPECT_NE(refused("{\"" + key + "\": " + wrong + "}").find("config.json." + key + " is "), std::string::npos)
          << wrong;
    }
  }
}

TEST(MsprobeConfig, Tasks) {
  EXPECT_EQ(accepted(R"({"task": "tensor"})").saved_data, SavedData::kFull) << "with statistics beside";
  for (const char* task : {"acc_check", "structure", "diff_check", "nan_check", "overflow_check", "run_ut",
                           "free_benchmark", "grad_probe"}) {
    EXPECT_NE(refused(R"({"task": ")" + std::string(task) + "\"}").find("run in Python"), std::string::npos) << task;
  }
  EXPECT_NE(refused(R"({"task": "statistic"})").find("allowed: \"statistics\", \"tensor\""), std::string::npos);
  EXPECT_NE(refused(R"({"task": "exception_dump"})").find("L2"), std::string::npos);
  EXPECT_EQ(accepted(R"({"task": "exception_dump", "level": "L2"})").op_debug_mode, DebugMode::kException);
}

TEST(MsprobeConfig, Levels) {
  const char *api = "Mint.add.3.backward", *module = "Cell.net.Net.forward.0",
             *gradients = "Module.a.A.parameters_grad.0";
  const struct {
    const char* level;
    bool apis, modules;
  } levels[] = {{"L0", false, true}, {"L1", true, false}, {"mix", true, true}};
  for (const auto& [level, apis, modules] : levels) {
    const auto config = accepted(R"({"level": ")" + std::string(level) + "\"}");
    EXPECT_EQ(wants(config, api), apis) << level;
    EXPECT_EQ(wants(config, "Default/Add-op1"), apis) << level;
    EXPECT_EQ(wants(config, module), modules) << level;
    EXPECT_EQ(wants(config, gradients), modules) << level;
  }
  EXPECT_TRUE(accepted(R"({"level": "debug"})").takes_saved);
  EXPECT_NE(refused(R"({"level": "l1"})").find("config.json.level"), std::string::npos);
}

TEST(MsprobeConfig, AListHasNamesAndPartsOfNames) {
  const auto config = accepted("{}", R"({"list": ["relu", "Functional.conv2d.1.forward", "Tensor.add.2"]})");
  EXPECT_TRUE(wants(config, "Functional.relu.0.forward"));
  EXPECT_TRUE(wants(config, "Torch.leaky_relu.7.backward"));
  EXPECT_FALSE(wants(config, "Functional.Relu.0.forward")) << "capitals count";
  EXPECT_TRUE(wants(config, "Functional.conv2d.0.forward")) << "its second call may be meant";
  EXPECT_FALSE(wants(config, "Functional.conv2d.1.backward"));
  EXPECT_TRUE(wants(config, "Tensor.add.0.forward"));
  EXPECT_FALSE(wants(config, "Tensor.sub.2.forward"));
  EXPECT_EQ(config.operators->unused(), std::vector<std::string>{});
  const auto other = accepted("{}", R"({"list": ["gelu"]})");
  EXPECT_FALSE(wants(other, "Functional.relu.0.forward"));
  EXPECT_EQ(other.operators->unused(), std::vector<std::string>{"the entry gelu of list"});
  EXPECT_TRUE(wants(accepted("{}", R"({"list": ["00.forward"]})"), "Tensor.add.0.forward")) << "call 100";
  for (const char* wrong : {"\"relu\"", "[7]", "[\"\"]"}) refused("{}", "{\"list\": " + std::string(wrong) + "}");
}

TEST(MsprobeConfig, DataModes) {
  const auto mode = [](const std::string& list) { return accepted("{}", "{\"data_mode\": " + list + "}"); };
  const char *forward = "Tensor.add.0.forward", *backward = "Tensor.add.0.backward";
  EXPECT_TRUE(wants(mode("[\"all\"]"), forward) && wants(mode("[]"), backward) && wants(mode("null"), backward));
  EXPECT_TRUE(wants(mode("[\"forward\"]"), forward));
  EXPECT_FALSE(wants(mode("[\"forward\"]"), backward));
  EXPECT_EQ(mode("[\"forward\"]").input_output, InputOutput::kBoth);
  EXPECT_FALSE(wants(mode("[\"backward\", \"output\"]"), forward));
  EXPECT_EQ(mode("[\"backward\", \"output\"]").input_output, InputOutput::kOutputs);
  EXPECT_TRUE(wants(mode("[\"input\"]"), forward) && wants(mode("[\"input\"]"), backward)) << "no direction: both";
  EXPECT_EQ(mode("[\"input\"]").input_output, InputOutput::kInputs);
  EXPECT_EQ(mode(R"(["input", "output", "forward", "backward"])").input_output, InputOutput::kBoth);
  for (const char* wrong : {"[\"all\", \"input\"]", "[\"inputs\"]", "\"all\"", "[1]",
                            R"(["input", "output", "forward", "backward", "input"])"}) {
    EXPECT_NE(refused("{}", "{\"data_mode\": " + std::string(wrong) + "}").find("statistics.data_mode"),
              std::string::npos);
  }
}

TEST(MsprobeConfig, SummaryModes) {
  for (const char* mode : {"statistics", "md5", "xor"})
    accepted("{}", R"({"summary_mode": ")" + std::string(mode) + "\"}");
  const auto error = refused("{}", R"({"summary_mode": "crc"})");
  EXPECT_NE(error.find("statistics.summary_mode is \"crc\""), std::string::npos);
  EXPECT_NE(refused("{}", R"({"summary_mode": ["max"]})").find("\"md5\" (a CRC-32)"), std::string::npos);
}

TEST(MsprobeConfig, AsynchronousDumps) {
  EXPECT_FALSE(accepted(R"({"async_dump": true})").enable);
  EXPECT_NE(refused(R"({"async_dump": true})", R"({"summary_mode": "md5"})").find("because async_dump is true"),
            std::string::npos);
  EXPECT_NE(refused(R"({"async_dump": true, "task": "tensor"})").find("tensor.list"), std::string::npos);
  accepted(R"({"async_dump": true, "task": "tensor"})", R"({"list": ["relu"]})");
  accepted(R"({"async_dump": true, "task": "tensor", "level": "debug"})");  // looks at no list
}

TEST(MsprobeConfig, AScopeIsTwoWholeNamesOfTheLevel) {
  const std::string apis = R"({"scope": ["Functional.conv2d.0.forward", "Tensor.add.3.backward"]})";
  const std::string modules = R"({"scope": ["Module.conv1.Conv2d.forward.0", "Module.fc.Linear.forward.0"]})";
  accepted("{}", apis);
  accepted(R"({"level": "L0"})", modules);
  accepted(R"({"level": "mix"})", apis);
  accepted(R"({"level": "mix"})", modules);
  EXPECT_NE(refused("{}", modules).find("no whole name of level L1"), std::string::npos);
  EXPECT_NE(refused(R"({"level": "L0"})", apis).find("no whole name of level L0"), std::string::npos);
  refused("{}", R"({"scope": ["Functional.conv2d.0.forward"]})");
  refused("{}", R"({"scope": ["conv2d", "relu"]})");
}

TEST(MsprobeConfig, OtherKeys) {
  EXPECT_FALSE(accepted(R"({"dump_enable": false})").iteration.contains(0));
  EXPECT_TRUE(accepted(R"({"dump_enable": true})").iteration.all());
  accepted(R"({"dump_enable": null, "precision": "high", "risk_level": "ALL", "custom_op_namespaces": ["mine"]})");
  accepted(R"({"custom_op_namespaces": null, "extra_info": false})", R"({"tensor_list": ["relu"]})");
  accepted(R"({"task": "tensor"})", R"({"file_format": "npy"})");
  for (const char* wrong :
       {R"({"dump_enable": 1})", R"({"extra_info": "yes"})", R"({"async_dump": 0})", R"({"precision": "medium"})",
        R"({"risk_level": "SOME"})", R"({"custom_op_namespaces": [1]})"}) {
    EXPECT_NE(refused(wrong).find("config.json."), std::string::npos);
  }
  EXPECT_NE(refused("{}", R"({"slice": [{"dim": 0, "size": 4, "begin": 0, "end": 2}]})").find("whole tensors"),
            std::string::npos);
  EXPECT_NE(refused("{}", R"({"request_id": "1"})").find("whole tensors"), std::string::npos);
  refused(R"({"task": "tensor"})", R"({"file_format": "bin"})");
  EXPECT_TRUE(parsed(msprobe_text(R"({"ranks": [1]})"))
                  .said_once("config.json has keys that mean nothing and are ignored: \"ranks\""));
  EXPECT_TRUE(parsed(msprobe_text("{}", R"({"device": "device"})"))
                  .said_once("device of statistics is read with level L2 only"));
}

TEST(MsprobeConfig, LevelL2IsMindSporesDumpOfKernels) {
  const auto l2 = [](const std::string& task) { return accepted(R"({"level": "L2"})", task); };
  const auto plain = l2("{}");
  EXPECT_EQ(plain.net_name, "Net");
  EXPECT_EQ(plain.statistic_category, (Categories{Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm}));
  EXPECT_EQ(plain.operators, nullptr);
  EXPECT_EQ(l2(R"({"summary_mode": "md5"})").statistic_category, Categories{Category::kMd5});
  const auto all = l2(R"({"summary_mode": ["max", "min", "mean", "l2norm", "count", "negative zero count", "zero count",
    "positive zero count", "nan count", "negative inf count", "positive inf count", "hash", "md5"]})");
  EXPECT_EQ(all.statistic_category.size(), 13u);
  EXPECT_EQ(l2(R"({"summary_mode": []})").statistic_category.size(), 4u) << "an empty list is statistics";
  EXPECT_NE(refused(R"({"level": "L2"})", R"({"summary_mode": ["avg"]})").find("\"mean\""), std::string::npos);
  EXPECT_NE(refused(R"({"level": "L2"})", R"({"summary_mode": "xor"})").find("a real one"), std::string::npos);
  EXPECT_NE(refused(R"({"level": "L2", "async_dump": true})", R"({"summary_mode": ["md5"]})").find("async_dump"),
            std::string::npos);
  EXPECT_EQ(l2(R"({"data_mode": ["output"]})").input_output, InputOutput::kOutputs);
  refused(R"({"level": "L2"})", R"({"data_mode": ["forward"]})");
  refused(R"({"level": "L2"})", R"({"data_mode": ["input", "output"]})");
  refused(R"({"level": "L2"})", R"({"scope": ["Functional.conv2d.0.forward", "Tensor.add.3.backward"]})");
  refused(R"({"level": "L2"})", R"({"tensor_list": ["x"]})");
  const auto listed = l2(R"J({"list": ["Conv2D", "name-regex(Default/.+Add-op[0-9]+)"]})J");
  EXPECT_TRUE(wants(listed, "Default/net/Conv2D-op1") && wants(listed, "Default/net/Add-op3"));
  EXPECT_FALSE(wants(listed, "Other/net/Add-op3"));
  const auto device = l2(R"({"device": "device", "precision": "low"})");
  EXPECT_TRUE(device.on_device);
  EXPECT_EQ(device.device_stat_precision_mode, Precision::kLow);
  EXPECT_EQ(accepted(R"({"level": "L2", "task": "tensor"})").saved_data, SavedData::kTensor);
}

TEST(MsprobeConfig, WhatIsNoConfigNamesWhatWasLookedFor) {
  const auto error = parsed(R"({"path": "/d"})").error;
  EXPECT_NE(error.find("MindSpore's data_dump.json has common_dump_settings"), std::string::npos);
  EXPECT_NE(error.find("msprobe's config.json has task and dump_path"), std::string::npos);
}

}  // namespace msprobe_config_test
}  // namespace tensorstat
