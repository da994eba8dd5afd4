// A model in shards is read by its index: each tensor once, and what does not agree with the index is said.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_shards_test {

using nlohmann::json;
using test::holds;
using test::Ran;
using test::run;

class Shards : public testing::Test {
 protected:
  // A shard of tensors with one float32 each.
  void write_shard(const std::string& name, const std::vector<std::string>& tensors) {
    json header = json::object();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      header[tensors[i]] = {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {4 * i, 4 * i + 4}}};
    }
    const std::string text = header.dump();
    std::string length(8, '\0');
    for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> 8 * i);
    test::write_file(place / name, length + text + std::string(4 * tensors.size(), '\0'));
  }
  void write_index(const json& map) {
    test::write_file(place / "m.safetensors.index.json",
                     json({{"metadata", {{"total_size", 16}}}, {"weight_map", map}}).dump());
  }
  static std::vector<std::string> names_in(const Ran& ran) {
    std::vector<std::string> names;
    const json output = test::parsed_json(ran.out);
    for (const json& tensor : output.at("tensors")) names.push_back(tensor.at("tensor"));
    return names;
  }

  ScratchFolder place;
};

TEST_F(Shards, AreReadByTheirIndexAndEachTensorOnce) {
  write_shard("m-10.safetensors", {"d", "a"});
  write_shard("m-2.safetensors", {"b", "a"});
  write_shard("other.safetensors", {"o"});
  write_index({{"a", "m-2.safetensors"}, {"b", "m-2.safetensors"}, {"d", "m-10.safetensors"}});
  const std::vector<std::string> all = {"b", "a", "d"};
  const Ran by_index = run(place, "m.safetensors.index.json --stats max --format json --on host");
  EXPECT_EQ(by_index.exit, 0) << by_index.err;
  EXPECT_EQ(names_in(by_index), all);
  const Ran by_folder = run(place, ". --stats max --format json --on host");
  EXPECT_EQ(by_folder.exit, 0) << by_folder.err;
  EXPECT_EQ(names_in(by_folder), (std::vector<std::string>{"b", "a", "d", "o"}));
  EXPECT_EQ(test::parsed_json(by_folder.out).at("tensors").at(0).at("path"), "./m.safetensors.index.json");
}

TEST_F(Shards, ThatDoNotAgreeWithTheIndexAreErrors) {
  write_shard("m-1.safetensors", {"a", "x"});
  write_index({{"a", "m-1.safetensors"}, {"b", "m-1.safetensors"}, {"c", "m-2.safetensors"}, {"d", "m-2.safetensors"}});
  const Ran ran = run(place, "m.safetensors.index.json --stats max --format json --on host");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_EQ(names_in(ran), std::vector<std::string>{"a"});
  EXPECT_EQ(
      ran.err,
      "tensorstat: m-1.safetensors::x: is not in the index m.safetensors.index.json\n"
      "tensorstat: m-1.safetensors: lacks 1 tensor that the index m.safetensors.index.json has in it\n"
      "tensorstat: m-2.safetensors: cannot be opened: No such file or directory; the index m.safetensors.index.json "
      "has 2 tensors in it\n");
}

TEST_F(Shards, AShardOfAnotherFormatIsSaid) {
  test::write_file(place / "m-1.safetensors",
                   test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc"));
  write_index({{"a", "m-1.safetensors"}});
  const Ran ran = run(place, "m.safetensors.index.json --stats max --format csv --on host");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_PRED2(holds, ran.err, "m-1.safetensors: is not in the index");
  EXPECT_PRED2(holds, ran.err, "m-1.safetensors: lacks 1 tensor that the index");
}

TEST_F(Shards, AnIndexThatMakesNoSenseIsRefusedAndTheShardsAreReadByThemselves) {
  write_shard("m-1.safetensors", {"a"});
  const std::pair<const char*, const char*> cases[] = {
      {"", "it is no JSON"},
      {"[]", "it is an array, not an object"},
      {"{}", "it has no 'weight_map'"},
      {R"({"weight_map": []})", "'weight_map' is an array, not an object"},
      {R"({"weight_map": {"a": 1}})", "the shard of tensor 'a' is a number, not a string"},
      {R"({"weight_map": {"a": {}}})", "the shard of tensor 'a' is an object, not a string"},
      {R"({"weight_map": {"a": "../m.safetensors"}})", "'../m.safetensors', which is no name"},
      {R"({"weight_map": {"a": "/etc/passwd"}})", "which is no name"},
      {R"({"weight_map": {"a": "m\u0000.safetensors"}})", "which is no name"},
      {R"({"weight_map": {"a": "m.safetensors.index.json"}})", "which is no name"},
      {R"({"weight_map": {"a": "m-1.safetensors", "a": "m-2.safetensors"}})", "tensor 'a' comes twice"},
      {R"({"weight_map": {"a": "m-1.safetensors", "a": "m-1.safetensors"}})", "tensor 'a' comes twice"},
      {R"({"weight_map": {}, "weight_map": {}})", "'weight_map' comes twice"},
      {R"({"weight_map": {"a": "m-1.safetensors"}} x)", "no JSON"},
  };
  for (const auto& [text, words] : cases) {
    test::write_file(place / "m.safetensors.index.json", text);
    const Ran ran = run(place, ". --stats max --format json --on host");
    EXPECT_EQ(ran.exit, 3) << text;
    EXPECT_PRED2(holds, ran.err, words);
    EXPECT_PRED2(holds, ran.err, "./m.safetensors.index.json: is no index of shards: ");
    EXPECT_EQ(names_in(ran), std::vector<std::string>{"a"}) << text;
  }
}

}  // namespace command_shards_test
}  // namespace tensorstat
