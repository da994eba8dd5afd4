// `tensorstat diff` is a table: it is short, and --where, --sort, --top, --columns and --format do what they do
// elsewhere.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/rows_of_a_graph.hpp"

namespace tensorstat::test {
namespace diff_table_test {

using Json = nlohmann::json;

class DiffTable : public testing::Test {
 protected:
  DiffTable() {
    run_python(folder, R"(
import numpy as np
a = {f'layer.{i}.w': np.arange(1, 9, dtype=np.float32).reshape(2, 4) for i in range(30)}
b = {name: w.copy() for name, w in a.items()}
for i in range(1, 25):
    b[f'layer.{i}.w'][1, 2] += i
b['layer.7.w'][0, 1] = np.nan
np.savez('a.npz', **a)
np.savez('b.npz', **b)
)");
  }
  // The first words of the lines of the table, without its heading.
  std::string names(const std::string& arguments) {
    const Ran ran = run(folder, "diff a.npz b.npz " + arguments);
    std::istringstream lines(ran.out);
    std::string line, names;
    while (std::getline(lines, line)) {
      if (line.starts_with("a.npz::")) line.erase(0, 7);  // of a single line
      if (line.starts_with("layer.")) names += (names.empty() ? "" : " ") + line.substr(6, line.find('.', 6) - 6);
    }
    return names;
  }
  ScratchFolder folder;
};

TEST_F(DiffTable, ShowsWhatDiffersMostAndSaysHowMuchIsLeft) {
  EXPECT_EQ(names(""), "7 24 23 22 21 20 19 18 17 16");
  const Ran ran = run(folder, "diff a.npz b.npz");
  EXPECT_EQ(ran.exit, 1);
  EXPECT_TRUE(holds(ran.out, "and 14 more: --top N or --all\n30 tensors compared, 24 differ, ")) << ran.out;
  EXPECT_EQ(names("--top 2"), "7 24");
  EXPECT_EQ(names("--all").substr(0, 9), "0 1 2 3 4");
  const Json json = Json::parse(run(folder, "diff a.npz b.npz --format json").out);
  const std::string digits = json["pairs"][1]["elements"]["relative l2"].dump();
  EXPECT_GT(digits.size(), 12u);
  EXPECT_TRUE(holds(run(folder, "diff a.npz b.npz --all").out, digits)) << digits;
}

TEST_F(DiffTable, IsAskedInTheLanguageOfRules) {
  EXPECT_EQ(names("--where nan"), "7");
  EXPECT_EQ(names("--where 'nan b > 0'"), "7");
  EXPECT_EQ(names("--where 'nan-a > 0'"), "");
  EXPECT_TRUE(holds(run(folder, "diff a.npz b.npz --where 'nan a > 0'").out, "0 of 30 pairs meet --where\n"));
  EXPECT_EQ(run(folder, "diff a.npz b.npz --where nan --top 0").out.substr(0, 29), "and 1 more: --top N or --all\n");
  EXPECT_FALSE(holds(run(folder, "diff a.npz b.npz --where nan --top 0").out, "meet --where"));
  EXPECT_EQ(names("--where 'max abs diff >= 23'"), "7 24 23") << "Inf is above";
  EXPECT_EQ(names("--where 'verdict == equal' --sort a"), "0 25 26 27 28 29");
  EXPECT_EQ(names("--where 'max-b > 29 and tensor ~ \"*.2?.w\"' --sort max-b"), "24 23");
  EXPECT_EQ(names("--sort=-max-abs-diff --top 3"), "1 2 3");
  EXPECT_EQ(
      run(folder, "diff a.npz b.npz --top 1 --sort max-abs-diff --where 'max-abs-diff < 100' --columns max-abs-diff,at")
          .out,
      "                    max\n                    abs\ntensor             diff  at\na.npz::layer.24.w    24  (1,2)\n"
      "and 28 more: --top N or --all\n"
      "30 tensors compared, 24 differ, 0 only in A, 0 only in B; the first that differs: a.npz::layer.1.w\n");
}

TEST_F(DiffTable, SaysWhichStatisticNoPairHas) {
  const Ran absmax =
      run(folder, "diff a.npz b.npz --where 'absmax-b >= 29' --sort absmax-b --columns absmax-a,absmax-b");
  EXPECT_EQ(absmax.err, "");
  EXPECT_FALSE(holds(absmax.out, "pairs meet --where")) << absmax.out;
  const Ran std = run(folder, "diff a.npz b.npz --where 'std-a > 0 or cosine < 2' --columns absmax-a,l1norm-b");
  EXPECT_EQ(std.err, "tensorstat: no pair has l1norm b, std a: a rule on it is never met, and its column is empty\n");
  put(folder, "a.csv", dump({"1", "2"}));
  put(folder, "b.csv", dump({"1", "-3"}));
  const Ran rows = run(folder, "diff a.csv b.csv --where 'cosine < 0.9'");
  EXPECT_EQ(rows.err, "tensorstat: no pair has cosine: a rule on it is never met, and its column is empty\n");
  EXPECT_EQ(rows.exit, 1);
  const Ran of_b = run(folder, "diff a.csv b.csv --where 'absmax-b == 3' --columns absmax-a,absmax-b --format csv");
  EXPECT_PRED2(holds, of_b.out, ",2,3\n");
}

TEST_F(DiffTable, EveryFormatHasTheChosenPairs) {
  const std::string chosen = "diff a.npz b.npz --where 'max abs diff > 21' --sort a --format ";
  const std::string csv = run(folder, chosen + "csv --columns max-abs-diff").out;
  EXPECT_EQ(csv,
            "a,b,verdict,rank,step,max abs diff\n"
            "a.npz::layer.7.w,b.npz::layer.7.w,different,,,inf\n"
            "a.npz::layer.22.w,b.npz::layer.22.w,different,,,22\n"
            "a.npz::layer.23.w,b.npz::layer.23.w,different,,,23\n"
            "a.npz::layer.24.w,b.npz::layer.24.w,different,,,24\n");
  const Json json = Json::parse(run(folder, chosen + "json").out);
  EXPECT_EQ(json["compared"], 30);
  EXPECT_EQ(json["pairs"].size(), 4u);
  std::istringstream lines(run(folder, chosen + "ndjson").out);
  std::string line;
  for (const Json& pair : json["pairs"]) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_EQ(Json::parse(line), pair);
  }
  EXPECT_TRUE(holds(run(folder, chosen + "md").out, "| `a.npz::layer.24.w` | "));
  // Without a choice programs get every pair.
  EXPECT_EQ(Json::parse(run(folder, "diff a.npz b.npz --format json").out)["pairs"].size(), 30u);
}

}  // namespace diff_table_test
}  // namespace tensorstat::test
