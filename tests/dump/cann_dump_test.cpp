// A session with acl.json writes a csv for each run of an operator, in CANN's folders, for the operators and tensors in
// its lists.

#include <set>

#include "tests/support/dump_session.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace cann_dump_test {

class CannDump : public SessionTest {
 protected:
  DumpSession open_acl(const std::string& members) {
    options.log = [this](Severity, std::string_view message) { messages.emplace_back(message); };
    auto session = DumpSession::from_json(
        R"({"dump": {"dump_path": ")" + folder.path() + R"(", "dump_data": "stats", )" + members + "}}", options);
    EXPECT_TRUE(session) << session.error().message;
    return session ? std::move(*session) : DumpSession();
  }

  std::vector<float> values{1.0F, 2.0F, 4.5F, -1.0F};

  void run_operator(DumpSession& session, const std::string& name, std::uint64_t iteration = 0) {
    collect(session, {.rank = 0, .device = 1, .graph = 2, .iteration = iteration}, name,
            {tensor(values, Dtype::kFloat32, Io::kInput, 0), tensor(values, Dtype::kFloat32, Io::kInput, 1),
             tensor(values, Dtype::kFloat32, Io::kOutput, 0)});
  }

  // The rows of each operator's files, by the operator's name.
  std::map<std::string, std::vector<Row>> found() const {
    std::map<std::string, std::vector<Row>> all;
    for (const std::string& file : files()) {
      for (Row& row : rows(file)) all[row.identity.op_name].push_back(std::move(row));
    }
    return all;
  }
};

TEST_F(CannDump, AFileForEachRunInTheFoldersOfItsModel) {
  auto session = open_acl(R"("dump_mode": "all", "dump_list": [{"model_name": "Res.Net"}])");
  run_operator(session, "net/conv1", 7);
  run_operator(session, "net/conv1", 7);
  EXPECT_TRUE(session.close());
  const auto left = files();
  ASSERT_EQ(left.size(), 2u);
  for (const std::string& file : left) {
    EXPECT_TRUE(test::matches(file, R"(\d{14}/1/Res_Net/2/7/Op\.net_conv1\.0\.0\.\d+\.csv)")) << file;
  }
  const std::string text = content_of(folder / left[0]);
  EXPECT_EQ(text,
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value,Count,Nan Count,"
            "Negative Inf Count,Positive Inf Count\n"
            "Input,0,16,DT_FLOAT,ND,4,4.5,-1,1.625,4,0,0,0\n"
            "Input,1,16,DT_FLOAT,ND,4,4.5,-1,1.625,4,0,0,0\n"
            "Output,0,16,DT_FLOAT,ND,4,4.5,-1,1.625,4,0,0,0\n");
  EXPECT_EQ(session.counters().row_count, 6u);
  EXPECT_EQ(session.counters().tensor_count, 6u);
}

// dump_list of several models, as TorchAir's documents have it. name_graph() says which model a graph is.
TEST_F(CannDump, EachModelHasItsLayersAndItsFolder) {
  const std::string models =
      R"("dump_mode": "all", "dump_list": [{"model_name": "ResNet-101"}, {"model_name": "ResNet/50", "layer": ["pool1"]}])";
  auto session = open_acl(models);
  session.name_graph(1, "ResNet-101");
  session.name_graph(2, "ResNet/50");
  session.name_graph(3, "VGG");
  for (const std::uint32_t graph : {1, 2, 3}) {
    for (const char* name : {"conv1", "pool1"}) {
      collect(session, {.graph = graph}, name, {tensor(values, Dtype::kFloat32)});
    }
  }
  EXPECT_TRUE(session.close());
  std::set<std::string> left;
  for (const std::string& file : files()) {
    const auto model = file.find('/', 15) + 1;  // {time}/{device}/
    left.insert(file.substr(model, file.find(".0.0.") - model));
  }
  EXPECT_EQ(left,
            (std::set<std::string>{"ResNet-101/1/0/Op.conv1", "ResNet-101/1/0/Op.pool1", "ResNet_50/2/0/Op.pool1"}));
  EXPECT_TRUE(was_said("nothing of the model VGG is dumped"));
  EXPECT_FALSE(was_said("names several models"));

  auto unnamed = open_acl(models);
  run_operator(unnamed, "conv1");
  unnamed.close();
  EXPECT_TRUE(was_said("names several models, and the backend does not say which model has graph 2"));
}

// torchair.scope.data_dump() adds operators to those of the list.
TEST_F(CannDump, FlaggedOperatorsJoinTheList) {
  auto session = open_acl(R"("dump_mode": "all", "dump_list": [{"model_name": "m", "layer": ["Add_1"]}])");
  for (const bool set_dump : {false, true}) {
    for (const char* name : {"Add_1", set_dump ? "Mul_2" : "Mul_3"}) {
      session.collect({}, session.operator_named("Op", name, set_dump), std::vector{tensor(values, Dtype::kFloat32)});
    }
  }
  session.close();
  const auto all = found();
  EXPECT_EQ(all.size(), 2u);
  EXPECT_TRUE(all.contains("Add_1") && all.contains("Mul_2"));
}

// The operator stands in the name of its file alone, and nobody reads a file without it.
TEST_F(CannDump, AnOperatorWithoutANameIsLostAndSaid) {
  for (const char* data : {"stats", "tensor"}) {
    messages.clear();
    options.log = [this](Severity, std::string_view message) { messages.emplace_back(message); };
    auto session = DumpSession::from_json(R"({"dump": {"dump_path": ")" + folder.path() + R"(", "dump_data": ")" +
                                              data + R"(", "dump_list": [{"model_name": "m"}]}})",
                                          options);
    ASSERT_TRUE(session) << session.error().message;
    run_operator(*session, "");
    run_operator(*session, "");
    session->close();
    EXPECT_TRUE(files().empty()) << data << ": " << files().front();
    EXPECT_EQ(session->counters().tensor_count, 0u) << data;
    EXPECT_EQ(session->counters().lost_tensor_count, 2u) << data;
    const auto is_of_name = [](const std::string& words) {
      return words.find("no file can be named after the operator \"Op\", \"\": it needs a type and a name") !=
             words.npos;
    };
    EXPECT_EQ(std::ranges::count_if(messages, is_of_name), 1) << data;
  }
}

TEST_F(CannDump, ChosenStatisticsHaveTheOtherHeading) {
  auto session = open_acl(R"("dump_op_switch": "on", "dump_stats": ["L2norm", "Max"])");
  run_operator(session, "a");
  EXPECT_TRUE(session.close());
  const auto left = files();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(test::matches(left[0], R"(\d{14}/1/Op\.a\.0\.0\.\d+\.csv)")) << left[0];
  EXPECT_EQ(content_of(folder / left[0]),
            "Input/Output,Index,Data Size,Data Type,Format,Shape,Count,Max Value,l2norm\n"
            "Output,0,16,DT_FLOAT,ND,4,4,4.5,5.12348\n");
}

TEST_F(CannDump, StepsAndLayersAreChosen) {
  auto session = open_acl(R"("dump_step": "1-2", "dump_list": [{"model_name": "m", "layer": ["net/a", "c"]}])");
  for (const char* name : {"net/a", "b", "c"}) {
    for (const std::uint64_t step : {0, 1, 2, 3}) run_operator(session, name, step);
  }
  EXPECT_TRUE(session.close());
  const auto left = found();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.at("net_a").size(), 2u);
  EXPECT_EQ(left.at("c").size(), 2u);
}

TEST_F(CannDump, BlacklistsTakeOperatorsAndTensors) {
  auto session = open_acl(R"("dump_level": "op", "dump_mode": "all", "dump_list": [{"model_name": "m",
      "opname_blacklist": [{"name": "a"}, {"name": "b", "pos": ["input0", "output_0"]}]}])");
  for (const char* name : {"a", "b", "c"}) run_operator(session, name);
  EXPECT_TRUE(session.close());
  const auto left = found();
  EXPECT_EQ(left.count("a"), 0u);
  ASSERT_EQ(left.at("b").size(), 1u);
  EXPECT_EQ(left.at("b")[0].identity.slot, 1u);
  EXPECT_EQ(left.at("c").size(), 3u);
}

TEST_F(CannDump, TypesAreBlacklisted) {
  auto session =
      open_acl(R"("dump_level": "op", "dump_list": [{"model_name": "m", "optype_blacklist": [{"name": "Op"}]}])");
  run_operator(session, "a");
  EXPECT_TRUE(session.close());
  EXPECT_TRUE(files().empty());
}

TEST_F(CannDump, RangesAreOfTheOrderOfHandOver) {
  auto session = open_acl(
      R"("dump_level": "op", "dump_list": [{"model_name": "m", "opname_range": [{"begin": "b", "end": "c"}]}])");
  for (const std::uint64_t step : {0, 1}) {
    for (const char* name : {"a", "b", "x", "c", "d"}) run_operator(session, name, step);
  }
  EXPECT_TRUE(session.close());
  const auto left = found();
  ASSERT_EQ(left.size(), 3u);
  for (const char* name : {"b", "x", "c"}) EXPECT_EQ(left.at(name).size(), 2u) << name;
}

TEST_F(CannDump, OverflowSavesTheTensorsOfTheOperator) {
  auto session = open_acl(R"("dump_debug": "on")");
  run_operator(session, "sound");
  values[0] = std::numeric_limits<float>::infinity();
  run_operator(session, "broken");
  EXPECT_TRUE(session.close());
  const auto left = files();
  ASSERT_EQ(left.size(), 1u) << "one file with the three of them";
  EXPECT_NE(left[0].find("Op.broken."), std::string::npos) << left[0];
  EXPECT_EQ(session.counters().tensor_count, 3u);
}

}  // namespace cann_dump_test
}  // namespace tensorstat
