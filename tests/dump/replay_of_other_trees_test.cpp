// Dumped trees of every kind, made by NumPy and protoc, are replayed with a data_dump.json. The rows describe the
// tensors in the trees.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "stats/data/files/io/folders.hpp"
#include "stats/job/dump/replay/replay.hpp"
#include "tests/support/config_text.hpp"
#include "tests/support/dump_data_files.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {
namespace replay_of_other_trees_test {

using namespace std::string_literals;
using test::dump_file;
using test::protoc;
using test::write_file;

class ReplayOfOtherTrees : public testing::Test {
 protected:
  std::string place(const std::string& file, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(tree / file).parent_path());
    return write_file(tree / file, bytes);
  }

  // A file of float32 inputs and outputs with one value each.
  static std::string operators_file(const std::vector<float>& inputs, const std::vector<float>& outputs) {
    std::string text = "version: '2.0'", data;
    const auto add = [&](const char* io, float value) {
      text.append(io).append(" { data_type: 1 format: 2 shape { dim: 1 } size: 4 }");
      data.append(reinterpret_cast<const char*>(&value), 4);
    };
    for (const float value : inputs) add(" input", value);
    for (const float value : outputs) add(" output", value);
    return dump_file(protoc("encode", text), data);
  }

  static std::string npy(float value) {
    return test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                     {reinterpret_cast<const char*>(&value), 4});
  }

  // Replays the tree. Returns the max of each row, by folder and tensor.
  std::map<std::string, double> replayed(const std::string& common = "{}", const std::string& e2e = "{}") {
    auto keys = nlohmann::json{
        {"path", out.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}, {"statistic_category", {"max"}}};
    keys.merge_patch(test::parsed_json(common));
    std::vector<std::string> files;
    std::vector<Error> faults;
    find_tensor_files(tree.path(), files, faults);
    EXPECT_TRUE(faults.empty());
    for (const char* rank : {"rank_0", "rank_1", "rank_2", "rank_3"}) remove_folder(out / rank);
    order.clear();
    DumpOptions options;
    options.dialect = Dialect::kOurs;
    options.path = out.path();
    const auto counters =
        replay(config_text(keys.dump(), e2e), files, options, Existing::kAppend,
               {[&](const Error& error) { unreadable.push_back(error.message); }, [](std::size_t, std::size_t) {}});
    EXPECT_TRUE(counters) << counters.error().message;
    std::map<std::string, double> numbers;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out.path())) {
      if (entry.path().filename() != "statistic.csv") continue;
      const std::string folder = std::filesystem::relative(entry.path().parent_path(), out.path());
      const auto read = read_rows_of_file(entry.path(), [&](Row&& row) {
        const Identity& identity = row.identity;
        order.push_back(identity.op_name + " " + identity.io + " " + std::to_string(identity.slot));
        const std::string name = folder + " " + identity.op_type + " " + order.back() + " " +
                                 std::to_string(identity.task_id) + " " + std::to_string(identity.stream_id);
        const auto* real = std::get_if<double>(&row.statistics.values[0]);
        const auto* whole = std::get_if<std::int64_t>(&row.statistics.values[0]);
        const auto* natural = std::get_if<std::uint64_t>(&row.statistics.values[0]);
        numbers[name] = real      ? *real
                        : whole   ? static_cast<double>(*whole)
                        : natural ? static_cast<double>(*natural)
                                  : NAN;
        return Status();
      });
      EXPECT_TRUE(read) << read.error().message;
    }
    return numbers;
  }

  using Values = std::map<std::string, double>;
  ScratchFolder tree, out;
  std::vector<std::string> unreadable, order;
};

TEST_F(ReplayOfOtherTrees, OfAscendsDumpFiles) {
  place("3/20240131235959/2/net/1/3/Conv2D.Default_Conv2D-op12.2.7.1612439563338023", operators_file({1, 2}, {3}));
  place("3/20240131235959/2/net/1/3/Add.Default_Add-op1.2.7.1612439563338024", operators_file({}, {4, 5}));
  EXPECT_EQ(replayed(), (Values{{"rank_2/Net/1/3 Conv2D Default_Conv2D-op12 input 0 2 7", 1},
                                {"rank_2/Net/1/3 Conv2D Default_Conv2D-op12 input 1 2 7", 2},
                                {"rank_2/Net/1/3 Conv2D Default_Conv2D-op12 output 0 2 7", 3},
                                {"rank_2/Net/1/3 Add Default_Add-op1 output 0 2 7", 4},
                                {"rank_2/Net/1/3 Add Default_Add-op1 output 1 2 7", 5}}));
  EXPECT_EQ(order.front(), "Default_Conv2D-op12 input 0");
  EXPECT_EQ(unreadable, std::vector<std::string>{});
}

TEST_F(ReplayOfOtherTrees, TheConfigChoosesAmongTheTensorsOfAFile) {
  place("rank_2/net/1/3/Conv2D.Default_Conv2D-op12.2.7.1612439563338023", operators_file({1, 2}, {3}));
  EXPECT_EQ(replayed(R"({"input_output": 2})"),
            (Values{{"rank_2/Net/1/3 Conv2D Default_Conv2D-op12 output 0 2 7", 3}}));
  EXPECT_EQ(replayed(R"({"iteration": "4"})"), Values{});
  EXPECT_EQ(replayed(R"({"dump_mode": 1, "kernels": ["add"]})"), Values{});
  EXPECT_EQ(replayed(R"({"dump_mode": 1, "kernels": ["conv"]})").size(), 3u);
}

TEST_F(ReplayOfOtherTrees, OfThoseOfR1_5) {
  place("2/net_graph_1/1/3/Add.Default_Add-op1.2.161243956333802", operators_file({1}, {2}));
  EXPECT_EQ(replayed(), (Values{{"rank_2/Net/1/3 Add Default_Add-op1 input 0 2 0", 1},
                                {"rank_2/Net/1/3 Add Default_Add-op1 output 0 2 0", 2}}));
  // That version's synchronous dump has no dtype at the end of names.
  place("rank_2/net/1/4/Conv2D.Conv2D-op107.2.2.1623124369613540.output.0.DefaultFormat.npy", npy(7));
  EXPECT_EQ(replayed().at("rank_2/Net/1/4 Conv2D Conv2D-op107 output 0 2 2"), 7);
  // msaccucmp's conversion of the first file.
  place("2/net_graph_1/1/5/Add.Default_Add-op1.2.161243956333802.input.0.1.npy", npy(8));
  EXPECT_EQ(replayed().at("rank_2/Net/1/5 Add Default_Add-op1 input 0 2 0"), 8);
}

TEST_F(ReplayOfOtherTrees, OfAclJsonAndTorchAir) {
  place("20240131235959/2/net/1/3/Add.add.2.7.1612439563338023", operators_file({1}, {}));
  place("worldsize4_global_rank3/20240131235959/1/net/1/0/Add.add.2.7.1612439563338023.bin", operators_file({2}, {}));
  EXPECT_EQ(replayed(), (Values{{"rank_2/Net/1/3 Add add input 0 2 7", 1}, {"rank_3/Net/1/0 Add add input 0 2 7", 2}}));
}

TEST_F(ReplayOfOtherTrees, OfMsprobe) {
  const std::string folder = "step3/rank1/dump_tensor_data/";
  place(folder + "Functional.conv2d.0.forward.input.0.npy", npy(1));
  place(folder + "Functional.conv2d.0.forward.input.1.npy", npy(2));
  place(folder + "Functional.conv2d.0.forward.output.0.npy", npy(3));
  place(folder + "Functional.conv2d.1.forward.output.0.npy", npy(4));
  place(folder + "Functional.conv2d.0.backward.input.0.npy", npy(5));
  place(folder + "Module.conv1.Conv2d.forward.0.output.0.npy", npy(6));
  place(folder + "Torch.cat.0.forward.input.0.0.npy", npy(7));
  place(folder + "Torch.cat.0.forward.input.0.1.npy", npy(8));
  place(folder + "Torch.cat.0.forward.input.1.npy", npy(9));
  place(folder + "Module.fc.Linear.parameters_grad.0.weight.npy", npy(10));
  place(folder + "Module.fc.Linear.forward.0.parameters.weight.npy", npy(11));
  place(folder + "weights.npy", npy(12));
  EXPECT_EQ(replayed(), (Values{{"rank_1/Net/0/3 conv2d Functional.conv2d.0.forward input 0 0 0", 1},
                                {"rank_1/Net/0/3 conv2d Functional.conv2d.0.forward input 1 0 0", 2},
                                {"rank_1/Net/0/3 conv2d Functional.conv2d.0.forward output 0 0 0", 3},
                                {"rank_1/Net/0/3 conv2d Functional.conv2d.1.forward output 0 0 0", 4},
                                {"rank_1/Net/0/3 conv2d Functional.conv2d.0.backward input 0 0 0", 5},
                                {"rank_1/Net/0/3 Conv2d Module.conv1.Conv2d.forward.0 output 0 0 0", 6},
                                {"rank_1/Net/0/3 cat Torch.cat.0.forward input 2 0 0", 7},
                                {"rank_1/Net/0/3 cat Torch.cat.0.forward input 3 0 0", 8},
                                {"rank_1/Net/0/3 cat Torch.cat.0.forward input 1 0 0", 9},
                                {"rank_1/Net/0/3 Linear Module.fc.Linear.parameters_grad.0 output 0 0 0", 10},
                                {"rank_1/Net/0/3 Linear Module.fc.Linear.forward.0 input 0 0 0", 11},
                                {"rank_1/Net/0/3 Tensor weights output 0 0 0", 12}}));
  EXPECT_EQ(unreadable, std::vector<std::string>{});
}

TEST_F(ReplayOfOtherTrees, CallsOfMsprobeComeInTheOrderInWhichTheyWereWritten) {
  const std::string folder = "step0/rank0/dump_tensor_data/";
  const auto now = std::filesystem::file_time_type::clock::now();
  const char* names[] = {"Functional.b.0.forward.output.0.npy", "Functional.a.0.forward.input.0.npy",
                         "Functional.a.0.forward.output.0.npy", "Functional.b.1.forward.output.0.npy"};
  for (int i = 0; i < 4; ++i) {
    std::filesystem::last_write_time(place(folder + names[i], npy(1)), now + std::chrono::seconds(i));
  }
  replayed();
  EXPECT_EQ(order, (std::vector<std::string>{"Functional.b.0.forward output 0", "Functional.a.0.forward input 0",
                                             "Functional.a.0.forward output 0", "Functional.b.1.forward output 0"}));
}

// The folders of the tree say which model a graph is of. Also two models with one id are told apart.
TEST_F(ReplayOfOtherTrees, EachModelOfAclHasItsLayersAndItsFolder) {
  for (const char* model : {"ResNet-101/1", "ResNet_50/2", "VGG/3", "ResNet_50/1"}) {
    for (const char* name : {"conv1", "pool1"}) {
      place("20240131235959/0/"s + model + "/5/Op." + name + ".2.7.1706716799000000", operators_file({1}, {2}));
    }
  }
  std::vector<std::string> files;
  std::vector<Error> faults;
  find_tensor_files(tree.path(), files, faults);
  ASSERT_EQ(files.size(), 8u);
  const std::string config = R"({"dump": {"dump_path": ")" + out.path() + R"(", "dump_mode": "all", "dump_list": [
      {"model_name": "ResNet-101"}, {"model_name": "ResNet/50", "layer": ["pool1"]}]}})";
  const auto counters =
      replay(config, files, {}, Existing::kAppend,
             {[&](const Error& error) { unreadable.push_back(error.message); }, [](std::size_t, std::size_t) {}});
  ASSERT_TRUE(counters) << counters.error().message;
  EXPECT_EQ(unreadable, std::vector<std::string>{});
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out.path())) {
    if (!entry.is_regular_file()) continue;
    const std::string file = std::filesystem::relative(entry.path(), out.path());
    const auto model = file.find('/', 15) + 1;  // behind {time}/{device}/
    left.insert(file.substr(model, file.find(".2.7.") - model));
  }
  EXPECT_EQ(left, (std::set<std::string>{"ResNet-101/1/5/Op.conv1", "ResNet-101/1/5/Op.pool1", "ResNet_50/2/5/Op.pool1",
                                         "ResNet_50/1/5/Op.pool1"}));
}

TEST_F(ReplayOfOtherTrees, PackedAndComplexTensorsAreWhatTheyWere) {
  place("rank_0/net/0/0/Op.op.2.7.1612439563338023",
        dump_file(protoc("encode", R"(version: "2.0" input { data_type: 28 shape { dim: 2 dim: 2 } size: 2 }
            input { data_type: 29 shape { dim: 11 } size: 2 } output { data_type: 16 shape { dim: 1 } size: 8 }
            output { data_type: 27 shape { dim: 2 } size: 4 })"),
                  "\x7f\x81\x81\x40"
                  "12345678"
                  "\x80\x3f\x00\xc0"s));
  EXPECT_EQ(replayed(R"({"saved_data": "full"})"), (Values{{"rank_0/Net/0/0 Op op input 0 2 7", 7},
                                                           {"rank_0/Net/0/0 Op op input 1 2 7", 1},
                                                           {"rank_0/Net/0/0 Op op output 1 2 7", 1}}));
  EXPECT_EQ(unreadable, std::vector<std::string>{});
  const std::string written = out / "rank_0/Net/0/0/Op.op.2.7.1612439563338023.";
  EXPECT_TRUE(content_of(written + "input.0.DefaultFormat.int4.npy").ends_with("\xff\x07\x01\xf8"));
  EXPECT_TRUE(content_of(written + "input.1.DefaultFormat.uint1.npy").ends_with("\1\0\0\0\0\0\0\1\0\1\0"s));
  EXPECT_TRUE(content_of(written + "output.0.DefaultFormat.complex64.npy").ends_with("12345678"));
  EXPECT_TRUE(content_of(written + "output.1.DefaultFormat.bfloat16.npy").ends_with("\0\0\x80\x3f\0\0\0\xc0"s));
}

TEST_F(ReplayOfOtherTrees, WhatCannotBeReadIsSaidAndTheRestIsDone) {
  place("rank_0/net/0/0/Op.half.2.7.1612439563338023",
        dump_file(protoc("encode",
                         "version: '2.0' input { data_type: 13 shape { dim: 1 } size: 4 } "
                         "input { data_type: 1 shape { dim: 1 } size: 4 }"),
                  "????\0\0\x80\x3f"s));
  place("rank_0/net/0/0/Op.cut.2.7.1612439563338024", operators_file({1}, {}).substr(0, 20));
  const std::string npy_inside = place("rank_0/net/0/0/Op.npy.2.7.1612439563338025", npy(1));
  EXPECT_EQ(replayed(), (Values{{"rank_0/Net/0/0 Op half input 1 2 7", 1}}));
  ASSERT_EQ(unreadable.size(), 3u);
  EXPECT_NE(unreadable[0].find("::input.0: its data type 13"), std::string::npos) << unreadable[0];
  EXPECT_NE(unreadable[1].find("Op.cut"), std::string::npos) << unreadable[1];
  EXPECT_EQ(unreadable[2], npy_inside + ": is named as a file of inputs and outputs, and is neither");
}

}  // namespace replay_of_other_trees_test
}  // namespace tensorstat
