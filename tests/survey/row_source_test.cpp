// A registered row source is read like files of rows: a path into it is found by its magic, lists the files inside, and
// gives their rows and columns.
#include "stats/data/rows/row_source.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "stats/data/rows/rows_of_file.hpp"
#include "stats/data/survey/row_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace row_source_test {

RowsRead read_by_source(const StoredPath& file) {
  RowsRead read;
  read.row_count = file.run.size() * 100 + file.file.size();
  return read;
}

const RowSource kSource = {
    .magic = "a box of rows\n",
    .files = [](const StoredPath& path) -> Result<std::vector<StoredRows>> {
      if (path.run == "none") return Error{Code::kUnreadable, path.store + ": no run none"};
      return std::vector<StoredRows>{{path.store + "//" + path.run + "/d/statistic.csv", "d", 7}};
    },
    .read = [](const StoredPath& file, const EachRow&) -> Result<RowsRead> { return read_by_source(file); },
    .columns = [](const StoredPath& file) -> Result<RowsRead> { return read_by_source(file); }};

class RowSources : public testing::Test {
 protected:
  static void SetUpTestSuite() { add_row_source(kSource); }
  std::string file_with(const std::string& text) {
    const std::string path = folder_ / "file";
    std::ofstream(path) << text;
    return path;
  }
  const ScratchFolder folder_;
};

TEST_F(RowSources, AreFoundByTheirMagic) {
  const std::string box = file_with("a box of rows\nand more");
  const auto all = stored_path(box), run = stored_path(box + "//a"), inner = stored_path(box + "//a/d/statistic.csv");
  ASSERT_TRUE(all && run && inner);
  EXPECT_EQ(all->store + "|" + all->run + "|" + all->file, box + "||");
  EXPECT_EQ(run->store + "|" + run->run + "|" + run->file, box + "|a|");
  EXPECT_EQ(inner->store + "|" + inner->run + "|" + inner->file, box + "|a|/d/statistic.csv");
  EXPECT_EQ(inner->source, &kSource);
  EXPECT_TRUE(is_row_file(box));
}

TEST_F(RowSources, AreNoOtherFiles) {
  for (const char* text : {"", "a box", "A box of rows\n", "SQLite format 3"}) {
    EXPECT_FALSE(stored_path(file_with(text))) << text;
  }
  EXPECT_FALSE(stored_path(folder_.path()));
  EXPECT_FALSE(stored_path(folder_ / "missing"));
}

TEST_F(RowSources, ListTheirFiles) {
  const std::string box = file_with("a box of rows\n");
  std::vector<Error> faults;
  const auto files = find_row_files({box + "//a", box + "//none"}, faults);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].path, box + "//a/d/statistic.csv");
  EXPECT_EQ(files[0].folder, "d");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].code, Code::kUnreadable);
}

TEST_F(RowSources, AreReadAsFilesOfRows) {
  const std::string path = file_with("a box of rows\n") + "//run/f";
  const auto rows = read_rows_of_file(path, [](Row&&) { return Status(); });
  const auto columns = read_columns(path);
  ASSERT_TRUE(rows && columns);
  EXPECT_EQ(rows->row_count, 302u);
  EXPECT_EQ(columns->row_count, 302u);
}

}  // namespace row_source_test
}  // namespace tensorstat
