// The statistic exponents in every format, and read back from csv.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_exponents_test {

using namespace test;

class CommandExponents : public testing::Test {
 protected:
  CommandExponents() {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> elements = {0, -0.0f, 1e-40f, 1, -1.5f, 0.75f, 3, inf, -inf, nan};
    const std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float));
    write_file(folder_ / "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }", bytes));
  }

  std::string out(const std::string& arguments) {
    const Ran ran = run(folder_, arguments);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  }

  ScratchFolder folder_;
};

TEST_F(CommandExponents, JsonHasAnObject) {
  EXPECT_PRED2(holds, out("x.npy --stats exponents,max --format json"),
               "\"stats\":{\"exponents\":{\"zero\":2,\"subnormal\":1,\"binades\":{\"-1\":1,\"0\":2,\"1\":1},\"inf\":2,"
               "\"nan\":1},"
               "\"max\":\"nan\"}}");
}

TEST_F(CommandExponents, CsvHasOneCellThatIsReadBack) {
  const std::string csv = out("x.npy --stats exponents --format csv");
  EXPECT_PRED2(holds, csv, ",Exponents\n");
  EXPECT_PRED2(holds, csv, ",zero:2 subnormal:1 -1:1 0:2 1:1 inf:2 nan:1\n");
  write_file(folder_ / "statistic.csv", csv);
  EXPECT_PRED2(holds, out("statistic.csv --format json"), "\"binades\":{\"-1\":1,\"0\":2,\"1\":1}");
  EXPECT_EQ(run(folder_, "diff statistic.csv statistic.csv").exit, 1);  // diff has nothing else to compare
}

TEST_F(CommandExponents, TablesSayHowManyBinadesAndWhich) {
  for (const char* format : {"table", "md"}) {
    EXPECT_PRED2(holds, out("x.npy --stats exponents --format " + std::string(format)), "-1 ▄█▄ 1") << format;
  }
}

TEST_F(CommandExponents, AreNoNumberForConditions) {
  const Ran ran = run(folder_, "x.npy --stats max --fail-on 'exponents>3'");
  EXPECT_EQ(ran.exit, 2);
  EXPECT_PRED2(holds, ran.err, "is a text");
}

}  // namespace command_exponents_test
}  // namespace tensorstat
