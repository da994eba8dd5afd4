// Indices in every format: in C order, whatever the file's order is, with the coordinates beside them.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_where_test {

using namespace test;

constexpr const char* kAsked = " --stats argmax,argmin,first-nan-index,first-inf-index,first-bad-index,finite-max";

class CommandWhere : public testing::Test {
 protected:
  CommandWhere() {
    // [[0, 5, -1], [9, 2, 9]], stored row by row and column by column.
    write("c.npy", "False", "(2, 3)", {0, 5, -1, 9, 2, 9});
    write("f.npy", "True", "(2, 3)", {0, 9, 5, 2, -1, 9});
    const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    write("bad.npy", "False", "(4,)", {1, 2, inf, nan});
    write("none.npy", "False", "(0, 2)", {});
    write("scalar.npy", "False", "()", {7});
  }

  void write(const std::string& file, const std::string& fortran, const std::string& shape,
             const std::vector<float>& elements) {
    const std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float));
    const std::string header = "{'descr': '<f4', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
    write_file(folder_ / file, npy(header, bytes));
  }

  std::string json(const std::string& file) {
    const Ran ran = run(folder_, file + kAsked + " --format json");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    const std::size_t position = ran.out.find("\"stats\":");
    return position == ran.out.npos ? ran.out
                                    : ran.out.substr(position + 8, ran.out.find("}}", position) + 1 - position - 8);
  }

  ScratchFolder folder_;
};

TEST_F(CommandWhere, JsonHasTheCoordinatesBesideTheIndex) {
  for (const char* file : {"c.npy", "f.npy"}) {
    EXPECT_EQ(
        json(file),
        "{\"argmax\":3,\"argmax at\":[1,0],\"argmin\":2,\"argmin at\":[0,2],\"first nan index\":null,"
        "\"first nan index at\":null,\"first inf index\":null,\"first inf index at\":null,\"first bad index\":null,"
        "\"first bad index at\":null,\"finite max\":9}")
        << file;
  }
  EXPECT_EQ(
      json("bad.npy"),
      "{\"argmax\":3,\"argmax at\":[3],\"argmin\":3,\"argmin at\":[3],\"first nan index\":3,\"first nan index at\":[3],"
      "\"first inf index\":2,\"first inf index at\":[2],\"first bad index\":2,\"first bad index at\":[2],"
      "\"finite max\":2}");
}

// 2048 x 1024 elements, 8 MiB: more than one block, and enough for several threads.
TEST_F(CommandWhere, ALargeFileReadInBlocksHasTheSameIndices) {
  constexpr std::size_t kRows = 2048, kColumns = 1024;
  std::vector<float> by_row(kRows * kColumns, 1), by_column = by_row;
  const auto set = [&](std::size_t row, std::size_t column, float value) {
    by_row[row * kColumns + column] = by_column[column * kRows + row] = value;
  };
  for (std::size_t row = 700; row < kRows; row += 3)
    set(row, 1023 - row % 1000, std::numeric_limits<float>::infinity());
  set(3, 1000, -2);
  set(900, 2, -2);
  write("c.npy", "False", "(2048, 1024)", by_row);
  write("f.npy", "True", "(2048, 1024)", by_column);
  for (const char* file : {"c.npy", "f.npy", "c.npy --threads 1"}) {
    const std::string stats = json(file);
    EXPECT_PRED2(holds, stats, "\"argmin at\":[3,1000]") << file;
    EXPECT_PRED2(holds, stats, "\"argmax at\":[700,323]") << file;
    EXPECT_PRED2(holds, stats, "\"first inf index at\":[700,323]") << file;
  }
}

TEST_F(CommandWhere, NothingHasNoPlaceAndAScalarHasNoCoordinates) {
  EXPECT_PRED2(holds, json("none.npy"), "\"argmax\":null,\"argmax at\":null");
  EXPECT_PRED2(holds, json("none.npy"), "\"finite max\":null");
  EXPECT_PRED2(holds, json("scalar.npy"), "\"argmax\":0,\"argmax at\":[]");
}

TEST_F(CommandWhere, CsvHasTheIndexAlone) {
  const Ran ran = run(folder_, std::string("f.npy") + kAsked + " --format csv");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_PRED2(holds, ran.out, "Argmax,Argmin,First NaN Index,First Inf Index,First Bad Index,Finite Max Value\n");
  EXPECT_PRED2(holds, ran.out, ",3,2,,,,9\n");
}

TEST_F(CommandWhere, TablesShowCoordinatesToo) {
  for (const char* format : {"table", "md"}) {
    const Ran ran = run(folder_, "f.npy --stats argmax,argmin --format " + std::string(format));
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_PRED2(holds, ran.out, "3 (1,0)") << format;
    EXPECT_PRED2(holds, ran.out, "2 (0,2)") << format;
  }
}

TEST_F(CommandWhere, AnIndexIsANumberForConditions) {
  EXPECT_EQ(run(folder_, "bad.npy --stats max --fail-on 'first-bad-index<3'").exit, 1);
  EXPECT_EQ(run(folder_, "c.npy --stats max --fail-on 'first-bad-index<3'").exit, 0);
}

}  // namespace command_where_test
}  // namespace tensorstat
