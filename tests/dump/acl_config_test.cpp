// CANN's acl.json: every key and rule of its "dump" object, with CANN's error code in the message. Also the examples in
// TorchAir's documentation, unchanged.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "stats/job/dump/config/config_dialect.hpp"
#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace acl_config_test {

Parsed dump_of(const std::string& members) { return parsed("{\"dump\": {" + members + "}}"); }

std::string with_list(const std::string& item, const std::string& more = "") {
  return R"("dump_path": "./", "dump_list": [{)" + item + "}]" + (more.empty() ? "" : ", ") + more;
}

const std::string kSingle = R"("dump_path": "./", "dump_op_switch": "on")";

struct Refused {
  std::string members, code, words;
};

class AclRefuses : public testing::TestWithParam<Refused> {};

TEST_P(AclRefuses, WithItsCode) {
  const auto& [members, code, words] = GetParam();
  const Parsed config = dump_of(members);
  ASSERT_FALSE(config.config) << members;
  EXPECT_TRUE(config.error.starts_with(code + ": ")) << members << "\n-> " << config.error;
  EXPECT_NE(config.error.find(words), std::string::npos) << members << "\n-> " << config.error;
}

std::vector<Refused> refused() {
  const std::string op = R"("dump_level": "op")", kernel = R"("dump_level": "kernel")";
  std::string steps = "0", blacks = R"({"name": "a"})";
  for (int i = 1; i <= 100; ++i) steps += "|" + std::to_string(i), blacks += R"(, {"name": "a"})";
  std::vector<Refused> all = {
      // Types, EP0001.
      {R"("dump_path": "")", "EP0001", "dump.dump_path is empty"},
      {R"("dump_list": 123)", "EP0001", "dump.dump_list is 123, not a list"},
      {R"("dump_list": [123])", "EP0001", "not an object"},
      {R"("dump_list": [{"model_name": 123}])", "EP0001", "model_name"},
      {R"("dump_list": [{"layer": "a"}])", "EP0001", "layer"},
      {R"("dump_list": [{"layer": [true]}])", "EP0001", "layer"},
      {R"("dump_list": [{"watcher_nodes": 1}])", "EP0001", "watcher_nodes"},
      {R"("dump_list": [{"optype_blacklist": ["a"]}])", "EP0001", "optype_blacklist"},
      {R"("dump_list": [{"opname_blacklist": [{"name": 1}]}])", "EP0001", "name"},
      {R"("dump_list": [{"opname_blacklist": [{"name": "a", "pos": [1]}]}])", "EP0001", "pos"},
      {R"("dump_list": [{"opname_range": [{"begin": "a", "end": 1}]}])", "EP0001", "end"},
      {R"("dump_stats": "Max")", "EP0001", "dump_stats"},
      {R"("dump_stats": [1])", "EP0001", "dump_stats"},
      {R"("dump_stats": [])", "EP0001", "dump_stats is empty"},
      // Words, EP0002. The message lists the allowed ones.
      {R"("dump_mode": "some")", "EP0002", "output, input, all"},
      {R"("dump_data": "some")", "EP0002", "tensor, stats"},
      {R"("dump_level": "some")", "EP0002", "all, op, kernel"},
      {R"("dump_op_switch": "some")", "EP0002", "off, on"},
      {R"("dump_debug": "some")", "EP0002", "off, on"},
      {R"("dump_scene": "some")", "EP0002", "lite_exception, aic_err_brief_dump"},
      {R"("dump_kernel_data": "all,some")", "EP0002", "all, printf, tensor, assert, timestamp"},
      {R"("dump_stats": ["Max", "Sum"])", "EP0002", "Negative Inf, Positive Inf, L2norm"},
      // Values, EP0003.
      {R"("dump_op_switch": "on", "dump_path": ")" + std::string(513, 'a') + "\"", "EP0003", "512"},
      {R"("dump_op_switch": "on", "dump_path": "asdf###")", "EP0003", "asdf###"},
      {R"("dump_op_switch": "on", "dump_path": "192.168.0.1:/home")", "EP0003", "other machines"},
      {kSingle + R"(, "dump_step": "1-2-3")", "EP0003", "1-2-3"},
      {kSingle + R"(, "dump_step": "abc")", "EP0003", "abc"},
      {kSingle + R"(, "dump_step": "10-5")", "EP0003", "10-5"},
      {kSingle + R"(, "dump_step": ")" + steps + "\"", "EP0003", "100 parts"},
      {with_list(R"("model_name": "m", "optype_blacklist": [)" + blacks + "]", op), "EP0003", "100 entries"},
      {with_list(R"("model_name": "m", "opname_range": [{"begin": "", "end": "b"}])", op), "EP0003", "begin"},
      // Rules between keys.
      {R"("dump_op_switch": "on")", "EP0001", "dump_path is missing"},
      {kSingle + R"(, "dump_debug": "on")", "EP0005", "dump_debug"},
      {R"("dump_scene": "lite_exception", "dump_debug": "on")", "EP0005", "dump_scene excludes"},
      {R"("dump_scene": "watcher", "dump_op_switch": "on")", "EP0005", "dump_scene excludes"},
      {kSingle + R"(, "dump_stats": ["Max"])", "EP0005", "dump_data"},
      {kSingle + R"(, "dump_data": "tensor", "dump_stats": ["Max"])", "EP0005", "dump_data"},
      {with_list(R"("watcher_nodes": [])", R"("dump_scene": "watcher")"), "EP0001", "watcher_nodes"},
      {with_list(R"("watcher_nodes": ["a"])", R"("dump_scene": "watcher", "dump_mode": "all")"), "EP0005", "dump_mode"},
      {with_list(R"("model_name": "m", "watcher_nodes": ["a"])", R"("dump_scene": "watcher")"), "EP0005", "model_name"},
      {with_list(R"("model_name": "m", "watcher_nodes": ["a"])"), "EP0005", "watcher_nodes needs"},
      {with_list(R"("model_name": "m", "optype_blacklist": [{"name": "a"}])", kernel), "EP0005", "dump_level"},
      {with_list(R"("opname_range": [{"begin": "a", "end": "b"}])", kernel), "EP0005", "dump_level"},
      {with_list(R"("opname_range": [{"begin": "a", "end": "b"}])", op), "EP0001", "model_name"},
      {with_list(R"("model_name": "", "layer": ["a"])"), "EP0001", "model_name is empty"},
      {with_list(R"("model_name": "m", "layer": [])"), "EP0001", "layer is empty"},
  };
  for (const char* key : {"dump_path", "dump_step", "dump_mode", "dump_data", "dump_level", "dump_op_switch",
                          "dump_debug", "dump_scene", "dump_kernel_data"}) {
    for (const char* value : {"1", "[\"on\"]", "null"}) {
      all.push_back({"\"" + std::string(key) + "\": " + value, "EP0001", "dump." + std::string(key)});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Rules, AclRefuses, testing::ValuesIn(refused()));

TEST(AclConfig, AnObjectAndAReasonToDumpAreNeeded) {
  EXPECT_TRUE(parsed(R"({"dump": []})").error.starts_with("EP0001: dump is")) << parsed(R"({"dump": []})").error;
  EXPECT_EQ(dump_of("").error, "EP0001: dump.dump_path is missing");
  for (const std::string members : {R"("dump_path": "./")", R"("dump_path": "./", "dump_list": [])",
                                    R"("dump_path": "./", "dump_debug": "off", "dump_op_switch": "off")"}) {
    EXPECT_NE(dump_of(members).error.find("it wants no dump"), std::string::npos) << members << dump_of(members).error;
  }
}

TEST(AclConfig, DefaultsAreCanns) {
  const auto config = dump_of(R"("dump_path": "/d", "dump_op_switch": "on", "dump_data": "stats")").config;
  ASSERT_TRUE(config);
  EXPECT_EQ(config->input_output, InputOutput::kOutputs);
  EXPECT_EQ(config->path, "/d");
  EXPECT_TRUE(config->iteration.all());
  using enum Category;
  EXPECT_EQ(config->statistic_category,
            (Categories{kMax, kMin, kAvg, kNanCount, kNegativeInfCount, kPositiveInfCount}));
  EXPECT_FALSE(config->saves_tensors());
}

TEST(AclConfig, EveryValueIsObeyed) {
  const auto config = dump_of(kSingle + R"(, "dump_mode": "all", "dump_data": "stats", "dump_step": "0|3-5|10",
      "dump_stats": ["L2norm", "Max", "Max"], "dump_kernel_data": "all,printf", "quant_dumpable": true)")
                          .config;
  ASSERT_TRUE(config);
  EXPECT_EQ(config->input_output, InputOutput::kBoth);
  EXPECT_EQ(config->statistic_category, (Categories{Category::kL2norm, Category::kMax}));
  for (const std::uint64_t step : {0, 3, 4, 5, 10}) EXPECT_TRUE(config->iteration.contains(step)) << step;
  for (const std::uint64_t step : {1, 2, 6, 11}) EXPECT_FALSE(config->iteration.contains(step)) << step;
  EXPECT_TRUE(config->path.starts_with('/')) << "relative to the working directory: " << config->path;
}

TEST(AclConfig, WhenOverflowIsLookedForStepAndListAreNotChecked) {
  const auto config =
      dump_of(R"("dump_path": "output", "dump_debug": "on", "dump_step": "x", "dump_stats": ["Max"])").config;
  ASSERT_TRUE(config);
  EXPECT_EQ(config->op_debug_mode, DebugMode::kOverflow);
}

TEST(AclConfig, ScenesOfExceptionsDumpInputs) {
  for (const char* scene : {"lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump"}) {
    const Parsed read =
        dump_of(R"("dump_path": "./", "dump_stats": ["Max"], "dump_scene": ")" + std::string(scene) + "\"");
    ASSERT_TRUE(read.config) << scene << read.error;
    EXPECT_EQ(read.config->op_debug_mode, DebugMode::kException);
    EXPECT_EQ(read.config->input_output, InputOutput::kInputs);
  }
}

// As in CANN: to the folder of the environment, or to the working directory.
TEST(AclConfig, ExceptionsNeedNoPath) {
  for (const char* variable : {"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"}) unsetenv(variable);
  Notices notices{Log()};
  const auto path = [&] {
    const auto config = parse_config_here(R"({"dump": {"dump_scene": "lite_exception"}})", notices);
    EXPECT_TRUE(config) << config.error().message;
    return config ? config->path : "";
  };
  EXPECT_EQ(path(), std::filesystem::current_path().string());
  setenv("ASCEND_WORK_PATH", "/tmp/work", 1);
  EXPECT_EQ(path(), "/tmp/work");
  setenv("ASCEND_DUMP_PATH", "/tmp/dump", 1);
  EXPECT_EQ(path(), "/tmp/dump");
  const Parsed named = dump_of(R"("dump_path": "/tmp/named", "dump_scene": "lite_exception")");
  ASSERT_TRUE(named.config) << named.error;
  EXPECT_EQ(named.config->path, "/tmp/named");
  EXPECT_FALSE(dump_of(R"("dump_debug": "on")").config) << "other dumps do need one";
  for (const char* variable : {"ASCEND_DUMP_PATH", "ASCEND_WORK_PATH"}) unsetenv(variable);
}

TEST(AclConfig, WhatAnOverflowDumpDoesNotLookAtIsSaid) {
  const Parsed listed =
      dump_of(with_list(R"("model_name": "m", "layer": ["a"])", R"("dump_debug": "on", "dump_step": "1")"));
  ASSERT_TRUE(listed.config) << listed.error;
  EXPECT_TRUE(listed.said_once("not looked at: dump_list, dump_step"));
  EXPECT_TRUE(listed.config->operators->wants({"Op", "b"}));
  EXPECT_EQ(dump_of(R"("dump_path": "./", "dump_debug": "on")").messages, std::vector<std::string>{});
}

TEST(AclConfig, TorchAirsExamplesAreRead) {
  const Parsed model = parsed(R"({
	"dump":{
		"dump_list":[
			{	"model_name":"ResNet-101"
			},
			{
				"model_name":"ResNet-50",
				"layer":[
				      "conv1conv1_relu",
				      "res2a_branch2ares2a_branch2a_relu",
				      "res2a_branch1",
				      "pool1"
				]
			}
		],
		"dump_path":"/home/output",
                "dump_mode":"output",
		"dump_op_switch":"off",
                "dump_data":"tensor"
	}
})");
  ASSERT_TRUE(model.config) << model.error;
  EXPECT_TRUE(model.config->operators->wants({"Conv2D", "anything"})) << "the first item wants every operator";
  const Parsed single = parsed(R"({
    "dump":{
        "dump_path":"/home/output",
        "dump_list":[],
	"dump_op_switch":"on",
        "dump_data":"tensor"
    }
})");
  EXPECT_TRUE(single.config) << single.error;
  const Parsed overflow = parsed(R"({
    "dump":{
        "dump_path":"output",
        "dump_debug":"on"
    }
})");
  EXPECT_TRUE(overflow.config) << overflow.error;
  const Parsed watcher = parsed(R"({
    "dump":{
        "dump_list":[
            {
                "layer":["A", "B"],
                "watcher_nodes":["C", "D"]
            }
        ],
        "dump_path":"/home/",
        "dump_mode":"output",
        "dump_scene":"watcher"
    }
})");
  EXPECT_NE(watcher.error.find("EP0003: "), std::string::npos) << watcher.error;
  EXPECT_NE(watcher.error.find("cannot do"), std::string::npos) << "refused in words: " << watcher.error;
  const Parsed torchair = parsed(R"({"dump": {"dump_path": "/home/dump/worldsize1_global_rank0", "dump_mode": "all",
      "dump_data": "stats", "dump_step": "0|1", "quant_dumpable": "1",
      "dump_list": [{"model_name": "graph_1", "layer": ["Add_1Mul_1", "Add2"]}]}})");
  ASSERT_TRUE(torchair.config) << torchair.error;
  EXPECT_TRUE(torchair.config->operators->wants({"Add", "Add2"}));
  EXPECT_FALSE(torchair.config->operators->wants({"Add", "Add3"}));
}

}  // namespace acl_config_test
}  // namespace tensorstat
