// --columns adds the folder's parts to a csv. If rows of different folders are alike without them, the command suggests
// it.

#include <gtest/gtest.h>

#include <tensorstat/rows.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_columns_test {

using namespace test;

// Two iterations of two ranks, and a folder that belongs to no dump.
class CommandColumns : public testing::Test {
 protected:
  CommandColumns() {
    const std::string one = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", std::string(4, '\0'));
    for (const char* where : {"run/rank_0/net/2/0", "run/rank_0/net/2/1", "run/rank_1/net/2/1", "run/apart"}) {
      std::filesystem::create_directories(folder_ / where);
      write_file(folder_ / (std::string(where) + "/w.npy"), one);
    }
  }

  std::vector<Row> rows_of(const std::string& csv) {
    std::vector<Row> rows;
    const auto read = read_rows(csv, [&](Row&& row) { return rows.push_back(std::move(row)), Status(); });
    EXPECT_TRUE(read) << read.error().message;
    return rows;
  }

  ScratchFolder folder_;
};

TEST_F(CommandColumns, FollowTheDocumentedOnes) {
  const Ran ran = run(folder_, "run --stats max --format csv --columns path,rank,iteration");
  ASSERT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_PRED2(holds, ran.out, "Data Type,Shape,Max Value,Path,Rank,Iteration\n");
  const auto rows = rows_of(ran.out);
  ASSERT_EQ(rows.size(), 4u);
  const auto cell = [&](std::size_t row, const char* name) {
    const Cell* value = rows[row].identity.find(name);
    return value ? *value : Cell{std::string("none")};
  };
  EXPECT_EQ(cell(0, "path"), Cell{std::string("run/apart/w.npy")});
  EXPECT_EQ(cell(0, "rank"), Cell{std::string("none")});
  EXPECT_EQ(cell(2, "path"), Cell{std::string("run/rank_0/net/2/1/w.npy")});
  EXPECT_EQ(cell(2, "rank"), Cell{std::uint64_t{0}});
  EXPECT_EQ(cell(2, "iteration"), Cell{std::uint64_t{1}});
  EXPECT_EQ(cell(3, "rank"), Cell{std::uint64_t{1}});
}

TEST_F(CommandColumns, AreNamedOnceWhereRowsAreAlikeWithoutThem) {
  const std::string hint = "--columns path,rank,iteration tells them apart";
  const Ran plain = run(folder_, "run --stats max --format csv");
  EXPECT_EQ(plain.exit, 0);
  EXPECT_PRED2(holds, plain.out, ",Shape,Max Value\n");
  EXPECT_PRED2(holds, plain.err, hint);
  EXPECT_EQ(line_count(plain.err), 1u) << plain.err;
  EXPECT_PRED2(holds, run(folder_, "run --stats max --format csv --columns rank").err, hint)
      << "two iterations of rank 0";
  for (const char* told_apart : {"run --stats max --format csv --columns path", "run/rank_0/net/2/0 --format csv",
                                 "run --stats max --format json", "run --stats max"}) {
    EXPECT_FALSE(holds(run(folder_, told_apart).err, "--columns")) << told_apart;
  }
}

TEST_F(CommandColumns, AreRefusedWhereTheyMeanNothing) {
  for (const auto& [arguments, words] : {std::pair{"run --columns path", "only a csv has them"},
                                         std::pair{"run --format json --columns path", "only a csv has them"},
                                         std::pair{"run --format csv --columns layer", "known are path, rank"}}) {
    const Ran ran = run(folder_, arguments);
    EXPECT_EQ(ran.exit, 2) << arguments;
    EXPECT_PRED2(holds, ran.err, words) << arguments;
  }
}

}  // namespace command_columns_test
}  // namespace tensorstat
