// Quantiles on the command line: requested with any number, shown, compared, sorted and read back like other numbers.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_quantiles_test {

using namespace test;

class CommandQuantiles : public testing::Test {
 protected:
  // The numbers from 1 to `last`, as int16.
  void write(const std::string& name, int last) {
    std::string bytes;
    for (int i = 1; i <= last; ++i) bytes += {static_cast<char>(i % 256), static_cast<char>(i / 256)};
    write_file(folder_ / name,
               npy("{'descr': '<i2', 'fortran_order': False, 'shape': (" + std::to_string(last) + ",), }", bytes));
  }

  std::string out(const std::string& arguments) {
    const Ran ran = run(folder_, arguments);
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return ran.out;
  }

  ScratchFolder folder_;
};

TEST_F(CommandQuantiles, AreNumbersInEveryFormatAndReadBack) {
  write("x.npy", 1000);
  EXPECT_PRED2(holds, out("x.npy --stats p0,p0.1,p50,p99.9,p100 --format json"),
               R"("stats":{"p0":1,"p0.1":1,"p50":500,"p99.9":999,"p100":1000})");
  EXPECT_PRED2(holds, out("x.npy --stats p33.333,p99"), "p33.333  p99\n");
  EXPECT_PRED2(holds, out("x.npy --stats p33.333,p99"), "334  990\n");
  const std::string csv = out("x.npy --stats p5,p99.9 --format csv");
  EXPECT_PRED2(holds, csv, ",P5,P99.9\n");
  EXPECT_PRED2(holds, csv, ",50,999\n");
  write_file(folder_ / "statistic.csv", csv);
  EXPECT_PRED2(holds, out("statistic.csv --format json"), R"("p5":50,"p99.9":999)");
  EXPECT_EQ(run(folder_, "diff statistic.csv statistic.csv").exit, 0);
}

// Every format has casts at a scale, too.
TEST_F(CommandQuantiles, StandBesideCastsAtAScale) {
  write("x.npy", 1000);
  const std::string asked = "x.npy --stats e4m3fn-overflow,p50 --scale 0.5 ";
  EXPECT_PRED2(holds, out(asked + "--format json"), R"("cast_scale":0.5,)");
  EXPECT_PRED2(holds, out(asked + "--format json"), R"("stats":{"e4m3fn overflow":72,"p50":500})");
  EXPECT_PRED2(holds, out("x.npy --stats e4m3fn-overflow --format json"), R"("stats":{"e4m3fn overflow":536})");
  EXPECT_EQ(out("x.npy --stats e4m3fn-overflow --scale 1 --format json").find("cast_scale"), std::string::npos);
  const std::string csv = out(asked + "--format csv");
  EXPECT_PRED2(holds, csv, ",Cast Scale");
  EXPECT_PRED2(holds, csv, ",0.5");
  for (const char* scale : {"0", "-1", "inf", "nan", "1x"}) {
    const Ran refused = run(folder_, std::string("x.npy --stats e4m3fn-overflow --scale=") + scale);
    EXPECT_NE(refused.exit, 0) << scale;
    EXPECT_PRED2(holds, refused.err, "is no finite number above 0");
  }
  const Ran nothing = run(folder_, "x.npy --stats max --scale 2");
  EXPECT_NE(nothing.exit, 0);
  EXPECT_PRED2(holds, nothing.err, "no statistic that counts casts");
  EXPECT_PRED2(holds, run(folder_, "x.npy --stats underflows%").err, "100 * 'e4m3fn underflow' / count");
}

TEST_F(CommandQuantiles, OfNothingAreNull) {
  write("empty.npy", 0);
  EXPECT_PRED2(holds, out("empty.npy --stats p50,max --format json"), R"("stats":{"p50":null,"max":null})");
}

TEST_F(CommandQuantiles, AreComparedAndSortedBy) {
  write("few.npy", 10);
  write("many.npy", 1000);
  const std::string some = out("few.npy many.npy --stats count --where 'p50 > 100' --format csv");
  EXPECT_PRED2(holds, some, "Tensor,many,");
  EXPECT_EQ(some.find("Tensor,few,"), std::string::npos) << some;
  const std::string sorted = out("few.npy many.npy --stats count --sort p99.9 --format csv");
  EXPECT_LT(sorted.find("Tensor,many,"), sorted.find("Tensor,few,")) << sorted;
  EXPECT_EQ(1, run(folder_, "few.npy many.npy --fail-on 'p99.9>=999'").exit);
  EXPECT_EQ(0, run(folder_, "few.npy many.npy --fail-on 'p99.9>999'").exit);
}

TEST_F(CommandQuantiles, AreExplainedAndListed) {
  const std::string text = out("explain p99");
  EXPECT_PRED2(holds, text, "p99, in statistic.csv \"P99\"");
  EXPECT_PRED2(holds, text, "Exact");
  EXPECT_PRED2(holds, text, "within 2^-133 for a");  // the bound that quantiles_test holds float32 below 2^-126 to
  EXPECT_PRED2(holds, out("--help-all"), "p0.1, p1, p5, p25, p50, p75, p95, p99, p99.9");
  const Ran wrong = run(folder_, "x.npy --stats p101");
  EXPECT_EQ(2, wrong.exit);
  EXPECT_PRED2(holds, wrong.err, "pN has 0 <= N <= 100");
}

TEST_F(CommandQuantiles, OfRows) {
  std::string bytes;
  for (int i = 0; i < 6; ++i) bytes += {static_cast<char>(10 * i), 0};
  write_file(folder_ / "x.npy", npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,3), }", bytes));
  const std::string rows = out("x.npy --stats p50 --by 0 --format json");
  EXPECT_PRED2(holds, rows, R"("p50":10)");
  EXPECT_PRED2(holds, rows, R"("p50":40)");
  const std::string columns = out("x.npy --stats p50 --by 1 --format json");
  EXPECT_PRED2(holds, columns, R"("p50":0)");
  EXPECT_PRED2(holds, columns, R"("p50":20)");
}

}  // namespace command_quantiles_test
}  // namespace tensorstat
