// `tensorstat diff` pairs the tensors of two models by their names, however the models are cut into files and whatever
// stands before the names. Where nothing pairs, it says how the names differ.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/rows_of_a_graph.hpp"

namespace tensorstat::test {
namespace diff_pairing_test {

using Json = nlohmann::json;

// A file with one float16 for each name.
std::string safetensors(const std::vector<std::string>& names) {
  std::string header, data;
  for (const std::string& name : names) {
    header += (header.empty() ? "{" : ",") + Json(name).dump() + R"(:{"dtype":"F16","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 2) + "]}";
    data += name.substr(0, 1) + std::string(1, '\x3c');
  }
  header += "}";
  std::string size(8, '\0');
  for (int i = 0; i < 4; ++i) size[i] = static_cast<char>(header.size() >> 8 * i);
  return size + header + data;
}

// One file or shards, with or without an index: the tensors pair by name, whatever the files are called.
TEST(DiffPairing, AModelInOneFileAndInShardsPairsByNamesOfTensors) {
  ScratchFolder folder;
  put(folder, "one/model.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "other/weights.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  for (const char* sharded : {"shards", "bare"}) {
    put(folder, sharded + std::string("/model-00001-of-00002.safetensors"), safetensors({"a.w"}));
    put(folder, sharded + std::string("/model-00002-of-00002.safetensors"), safetensors({"b.w", "c.w"}));
  }
  put(folder, "shards/model.safetensors.index.json",
      R"({"weight_map": {"a.w": "model-00001-of-00002.safetensors", "b.w": "model-00002-of-00002.safetensors",
          "c.w": "model-00002-of-00002.safetensors"}})");
  const char* sides[] = {
      "one", "other", "shards", "bare", "one/model.safetensors", "shards/model.safetensors.index.json"};
  for (const std::string a : sides) {
    for (const std::string b : sides) {
      const Ran ran = run(folder, "diff " + a + " " + b);
      EXPECT_EQ(ran.out, "3 tensors compared, 0 differ, 0 only in A, 0 only in B\n") << a << " " << b << ran.err;
    }
  }
  // If a side has several containers, the file names distinguish their tensors.
  put(folder, "two/model.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "two/optimizer.safetensors", safetensors({"a.w"}));
  EXPECT_EQ(run(folder, "diff one two").out.substr(0, 8), "only in ");
  EXPECT_TRUE(holds(run(folder, "diff one two").out, "3 tensors compared, 0 differ, 0 only in A, 1 only in B"));
}

// Some dialects keep no . in a name, so a.b may be a_b. Where both are there, each is itself.
TEST(DiffPairing, NamesThatAreOneWithoutTheirDotsPairBySpelling) {
  ScratchFolder folder;
  const auto header = [](const std::string& text) {  // both names are of one tensor, by their first letters
    std::string changed = text;
    for (std::size_t key = 0; (key = changed.find("\"b_1.w", key)) != changed.npos;) changed[key + 1] = 'a';
    return changed;
  };
  put(folder, "one.safetensors", header(safetensors({"a.1_w", "b_1.w"})));
  put(folder, "turned.safetensors", header(safetensors({"b_1.w", "a.1_w"})));
  put(folder, "half.safetensors", header(safetensors({"b_1.w"})));
  const Ran turned = run(folder, "diff one.safetensors turned.safetensors");
  EXPECT_EQ(turned.out, "2 tensors compared, 0 differ, 0 only in A, 0 only in B\n");
  const Ran half = run(folder, "diff one.safetensors half.safetensors");
  EXPECT_EQ(half.out, "only in A  one.safetensors::a.1_w\n1 tensor compared, 0 differ, 1 only in A, 0 only in B\n");
  // Rows pair in their order where a dialect may have no dots.
  const auto rows = [](const std::string& first, const std::string& second) {
    return kHeading + ("Mul," + first) + ",0,0,1,output,0,4,float32,(1),1,1,1\nMul," + second +
           ",0,0,2,output,0,4,float32,(1),2,2,2\n";
  };
  put(folder, "a.csv", rows("net/a.w", "net/a_w"));
  put(folder, "turned.csv", rows("net/a_w", "net/a.w"));
  put(folder, "escaped.csv", rows("net_a_w", "net_a_w"));
  EXPECT_EQ(run(folder, "diff a.csv escaped.csv").exit, 0);
  EXPECT_EQ(run(folder, "diff escaped.csv turned.csv").exit, 0);
  const Ran other = run(folder, "diff a.csv turned.csv");
  EXPECT_PRED2(holds, other.out, "2 tensors compared, 2 differ");
}

// A prefix before every name, as DistributedDataParallel has it.
TEST(DiffPairing, NamesThatDifferByAPrefixPair) {
  ScratchFolder folder;
  put(folder, "a.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "module.safetensors", safetensors({"module.a.w", "module.b.w", "module.c.w"}));
  put(folder, "other.safetensors", safetensors({"teacher.model.a.w", "teacher.model.b.w", "teacher.model.c.w"}));
  put(folder, "mixed.safetensors", safetensors({"module.a.w", "module.b.w", "c.w"}));
  const auto paired = [&](const std::string& a, const std::string& b) {
    const Ran ran = run(folder, "diff " + a + ".safetensors " + b + ".safetensors");
    EXPECT_TRUE(holds(ran.out, "3 tensors compared, ") && holds(ran.out, " 0 only in A, 0 only in B")) << ran.out;
    return ran.err;
  };
  const std::string notice = "tensorstat: no name is in both: paired as --names does with the line ";
  EXPECT_EQ(paired("a", "module"), notice + "*,module.*\n");
  EXPECT_EQ(paired("module", "a"), notice + "module.*,*\n");
  EXPECT_EQ(paired("module", "other"), notice + "module.*,teacher.model.*\n");
  const Ran json = run(folder, "diff a.safetensors module.safetensors --format json");
  EXPECT_EQ(Json::parse(json.out)["paired_by"], "*,module.*");
  // Where names pair as they are, no other name is changed.
  const Ran mixed = run(folder, "diff a.safetensors mixed.safetensors");
  EXPECT_TRUE(holds(mixed.out, "1 tensor compared, 0 differ, 2 only in A, 2 only in B")) << mixed.out;
  EXPECT_EQ(mixed.err, "tensorstat: more would pair by --names with the line *,module.*\n");
  put(folder, "names", "x.*,y.*\n");
  EXPECT_TRUE(holds(run(folder, "diff a.safetensors module.safetensors --names names").out, "0 tensors compared"));
}

// Cuts of a model that no shards' names tell.
TEST(DiffPairing, OtherCutsOfAModelPairByNamesOfTensors) {
  ScratchFolder folder;
  put(folder, "one/ckpt-100.safetensors", safetensors({"a.w", "b.w", "c.w"}));
  put(folder, "two/first.safetensors", safetensors({"a.w"}));
  put(folder, "two/rest.safetensors", safetensors({"b.w", "c.w"}));
  for (const char* sides : {"one two", "two one", "one/ckpt-100.safetensors two"}) {
    EXPECT_EQ(run(folder, std::string("diff ") + sides).out, "3 tensors compared, 0 differ, 0 only in A, 0 only in B\n")
        << sides;
  }
}

TEST(DiffPairing, WhereNothingPairsItSaysHowNamesDiffer) {
  ScratchFolder folder;
  put(folder, "a.safetensors", safetensors({"module.a.w", "module.b.w"}));
  put(folder, "b.safetensors", safetensors({"a.v", "b.v"}));
  const Ran names = run(folder, "diff a.safetensors b.safetensors");
  EXPECT_EQ(names.exit, 1);
  EXPECT_EQ(names.err,
            "tensorstat: nothing is paired, as no name is in both: A has module.a.w, B has a.v; --names FILE pairs "
            "them by lines NAME_IN_A,NAME_IN_B, or old/*,new/* for a prefix\n");
  put(folder, "x/rank_0/net/0/7/statistic.csv", dump({"1", "2"}));
  put(folder, "y/rank_1/net/0/7/statistic.csv", dump({"1", "2"}));
  const Ran ranks = run(folder, "diff x y");
  EXPECT_EQ(ranks.err,
            "tensorstat: nothing is paired: Default_net_Mul-op1 is rank 0, iteration 7, input 0 in A, and rank 1, "
            "iteration 7, input 0 in B\n");
  EXPECT_EQ(run(folder, "diff x x").err, "");
}

}  // namespace diff_pairing_test
}  // namespace tensorstat::test
