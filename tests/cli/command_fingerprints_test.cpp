// crc32 and xor64 of files in every format, independent of the order and packing of the stored elements.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_fingerprints_test {

using namespace test;

class CommandFingerprints : public testing::Test {
 protected:
  void write(const std::string& name, const char* descr, bool fortran, const char* shape, const std::string& bytes) {
    write_file(folder_ / name, npy("{'descr': '" + std::string(descr) + "', 'fortran_order': " +
                                       (fortran ? "True" : "False") + ", 'shape': " + shape + ", }",
                                   bytes));
  }

  std::string out(const std::string& arguments) {
    const Ran ran = run(folder_, arguments);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  }

  // The last `bytes` characters of a file's row, with the end of the line.
  std::string end_of_row(const std::string& file, const std::string& stats, std::size_t bytes) {
    const std::string csv = out(file + " --stats " + stats + " --format csv");
    return csv.substr(csv.size() - bytes);
  }

  ScratchFolder folder_;
};

// zlib.crc32(b"123456789") is 0xcbf43926.
TEST_F(CommandFingerprints, AreDigitsInEveryFormatAndReadBack) {
  write("x.npy", "|u1", false, "(9,)", "123456789");
  EXPECT_PRED2(holds, out("x.npy --stats crc32,xor64 --format json"),
               R"("stats":{"crc32":"cbf43926","xor64":"3837363534333208"})");
  EXPECT_PRED2(holds, out("x.npy --stats crc32,xor64"), "cbf43926  3837363534333208");
  const std::string csv = out("x.npy --stats crc32,xor64 --format csv");
  EXPECT_PRED2(holds, csv, ",Crc32,Xor64\n");
  EXPECT_PRED2(holds, csv, ",cbf43926,3837363534333208\n");
  write_file(folder_ / "statistic.csv", csv);
  EXPECT_PRED2(holds, out("statistic.csv --format json"), "\"crc32\":\"cbf43926\"");
  EXPECT_EQ(run(folder_, "diff statistic.csv statistic.csv").exit, 0);
}

TEST_F(CommandFingerprints, AreOfCOrder) {
  std::string rows(6, '\0');
  std::iota(rows.begin(), rows.end(), '\1');
  write("c.npy", "|i1", false, "(2,3)", rows);
  write("fortran.npy", "|i1", true, "(2,3)", std::string("\1\4\2\5\3\6"));
  write("other.npy", "|i1", false, "(2,3)", std::string("\1\4\2\5\3\6"));
  const auto text = [&](const std::string& file) { return end_of_row(file, "crc32,xor64", 27); };
  EXPECT_EQ(text("c.npy"), text("fortran.npy"));
  EXPECT_NE(text("c.npy"), text("other.npy"));
}

// Two values per byte: the checksum is that of the framework's packed bytes, as for MD5.
TEST_F(CommandFingerprints, OfInt4AreThoseOfItsPackedBytes) {
  write("MatMul.op.0.0.5.output.0.ND.int4.npy", "|i1", false, "(4,)", std::string("\1\2\3\4"));
  write("bytes.npy", "|u1", false, "(2,)", std::string("\x21\x43"));
  const auto crc = [&](const std::string& file) { return end_of_row(file, "crc32", 9); };
  EXPECT_EQ(crc("MatMul.op.0.0.5.output.0.ND.int4.npy"), crc("bytes.npy"));
}

}  // namespace command_fingerprints_test
}  // namespace tensorstat
