// The files beside the tensors: metadata, execution orders and the arguments of operators.
#include <nlohmann/json.hpp>

#include "tests/support/dump_session.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {
namespace session_records_test {

class SessionRecords : public SessionTest {
 protected:
  void dump_one(DumpSession& session, const DumpPlace& place) {
    collect(session, place, "x", {tensor(values, Dtype::kFloat32)});
  }
  const std::vector<float> values{1, 2};
};

TEST_F(SessionRecords, MetadataIsTheConfigOfTheLastRunAsItWas) {
  options.device_target = "GPU";
  options.framework_version = "2.7.0";
  for (const char* name : {"First", "Second"}) {
    auto session = open(R"({"net_name": ")" + std::string(name) + "\"}");
    dump_one(session, {.rank = 2});
    session.close();
  }
  const std::string text = content_of(folder / "rank_2/.dump_metadata/data_dump.json");
  EXPECT_NE(text.find("\"net_name\": \"Second\""), text.npos);
  EXPECT_TRUE(parsed(text).config);
  EXPECT_EQ(test::parsed_json(content_of(folder / "rank_2/.dump_metadata/config.json")),
            (nlohmann::json{{"device_target", "GPU"}, {"ms_version", "2.7.0"}}));
  EXPECT_TRUE(was_said("data_dump.json: replaced; a run with another config wrote it"));
  EXPECT_FALSE(std::filesystem::exists(folder / "rank_0"));
}

TEST_F(SessionRecords, ExecutionOrders) {
  auto session = open(R"({"iteration": "1", "initial_iteration": 5})");
  const std::vector<std::string> names{"Default/A-op1", "Default/B-op2"};
  session.save_execution_order(1, 3, names);
  for (std::uint64_t step = 0; step < 3; ++step) session.step_end({.rank = 1, .graph = 3, .iteration = step});
  session.step_end({.rank = 1, .device = 77, .graph = 3, .iteration = 9});
  session.close();
  const std::string orders = folder / "rank_1/execution_order/";
  EXPECT_EQ(content_of(orders + "ms_execution_order_graph_3.csv"),
            "NodeExecutionOrder-FullNameWithScope\nDefault/A-op1\nDefault/B-op2\n");
  EXPECT_EQ(content_of(orders + "ms_global_execution_order_graph_3.csv"), "5\n6\n7\n");
}

TEST_F(SessionRecords, AStepOfWhichNothingIsWantedStartsNoThreadAndIsRecordedLater) {
  auto session = open(R"({"iteration": "3000"})");
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = threads();
  for (std::uint64_t step = 0; step < 512; ++step) EXPECT_TRUE(session.step_end({.iteration = step}));
  EXPECT_EQ(threads(), before);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::string all;
  for (std::uint64_t step = 0; step <= 3001; ++step) {
    if (step >= 512) session.step_end({.iteration = step});
    all += std::to_string(step) + "\n";
  }
  session.close();
  EXPECT_EQ(content_of(folder / "rank_0/execution_order/ms_global_execution_order_graph_0.csv"), all);
}

TEST_F(SessionRecords, RanksOfOneSessionHaveFilesOfTheirOwnByStepToo) {
  options.layout = DumpLayout::kByStep;
  auto session = open();
  const std::vector<std::string> first{"Default/A-op1"}, second{"Default/B-op2"};
  session.save_execution_order(0, 3, first);
  session.save_execution_order(1, 3, second);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    const DumpPlace place{.rank = rank, .device = rank, .graph = 3, .iteration = 4 + rank};
    dump_one(session, place);
    session.step_end(place);
  }
  session.close();
  const std::string heading = "NodeExecutionOrder-FullNameWithScope\n";
  for (const char* rank : {"0", "1"}) {
    const std::string of_rank = folder / ("rank_" + std::string(rank));
    const std::string orders = of_rank + "/execution_order/";
    EXPECT_EQ(content_of(orders + "ms_execution_order_graph_3.csv"),
              heading + (*rank == '0' ? first : second)[0] + "\n");
    EXPECT_EQ(content_of(orders + "ms_global_execution_order_graph_3.csv"), *rank == '0' ? "4\n" : "5\n");
    EXPECT_TRUE(std::filesystem::exists(of_rank + "/.dump_metadata/data_dump.json"));
  }
}

TEST_F(SessionRecords, ArgumentsUnderANameThatIsTooLong) {
  auto session = open("{}", R"({"save_kernel_args": true})");
  const std::string long_name = "Default/" + std::string(300, 'n') + "-op1";
  const std::vector<std::pair<std::string, std::string>> args{{"axis", "0"}};
  session.save_kernel_args({}, session.operator_named("Op", long_name), args);
  session.close();
  const std::string mapping = content_of(folder / "rank_0/Net/0/0/mapping.csv");
  const auto comma = mapping.find(',');
  ASSERT_NE(comma, mapping.npos);
  EXPECT_EQ(mapping.substr(comma + 1), "Op.Default_" + std::string(300, 'n') + "-op1.json\n");
  const std::string number = mapping.substr(0, comma);
  EXPECT_TRUE(number.ends_with(".json")) << number;
  EXPECT_EQ(content_of(folder / ("rank_0/Net/0/0/" + number)), "{\n    \"axis\": \"0\"\n}");
  EXPECT_EQ(messages, std::vector<std::string>{});
}

TEST_F(SessionRecords, ArgumentsOfOperators) {
  const std::vector<std::pair<std::string, std::string>> args{{"transpose_b", "False"}, {"transpose_a", "True"}};
  for (const char* wanted : {"false", "true"}) {
    auto session = open(R"({"iteration": "0"})", R"({"save_kernel_args": )" + std::string(wanted) + "}");
    const auto* op = session.operator_named("MatMul", "Default/net.x/MatMul-op1");
    session.save_kernel_args({}, op, args);
    session.save_kernel_args({.iteration = 1}, op, args);
    session.save_kernel_args({}, session.operator_named("Add", "Add-op1"), {});
    session.close();
    EXPECT_EQ(files().size(), *wanted == 'f' ? 0u : 2u);
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"rank_0/Net/0/0/Add.Add-op1.json",
                                               "rank_0/Net/0/0/MatMul.Default_net_x_MatMul-op1.json"}));
  EXPECT_EQ(content_of(folder / files()[1]), "{\n    \"transpose_a\": \"True\",\n    \"transpose_b\": \"False\"\n}");
  EXPECT_EQ(content_of(folder / files()[0]), "null");
}

}  // namespace session_records_test
}  // namespace tensorstat
