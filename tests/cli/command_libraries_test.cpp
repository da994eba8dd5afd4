// OpenSSL and libxlsxwriter are loaded only by the calls that need them. Where one is missing, such a call names it,
// and all others work.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace command_libraries_test {

using test::holds;
using test::Ran;

class CommandLibraries : public testing::Test {
 protected:
  CommandLibraries() {
    test::write_file(folder_ / "x.npy", test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc"));
  }

  // The loader finds only files that it refuses, as if neither library were installed.
  Ran without_both(const std::string& arguments) {
    test::write_file(folder_ / "libcrypto.so.3", "no library");
    for (int version = 1; version < 30; ++version) {
      test::write_file(folder_ / ("libxlsxwriter.so." + std::to_string(version)), "no library");
    }
    return test::run(folder_, arguments, "LD_LIBRARY_PATH='" + folder_.path() + "'");
  }

  const ScratchFolder folder_;
};

TEST_F(CommandLibraries, AreNotNeededForStatistics) {
  const Ran ran = without_both("x.npy --format csv --stats max");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_PRED2(holds, ran.out, "99");
  EXPECT_EQ(without_both("--help-all").exit, 0);
}

TEST_F(CommandLibraries, AreNamedByADigestAndByASpreadsheet) {
  const Ran digest = without_both("x.npy --format ndjson --stats max,md5,hash");
  EXPECT_EQ(digest.exit, 0) << digest.err;
  EXPECT_PRED2(holds, digest.out, "\"max\":99");
  EXPECT_PRED2(holds, digest.out, "\"md5\":null");
  EXPECT_PRED2(holds, digest.err, "libcrypto.so.3 cannot be loaded");
  const Ran whole = test::run(folder_, "x.npy --format ndjson --stats max,md5");
  EXPECT_PRED2(holds, whole.out, "\"md5\":\"900150983cd24fb0d6963f7d28e17f72\"") << "of abc";

  ASSERT_EQ(test::run(folder_, "x.npy --stats all -o a.csv").exit, 0);
  const std::string to_xlsx = "diff a.csv a.csv --rules msprobe -o a.xlsx";
  const Ran sheet = without_both(to_xlsx);
  if (holds(sheet.err, "libxlsxwriter-dev")) GTEST_SKIP() << "built without libxlsxwriter";
  EXPECT_EQ(sheet.exit, 5) << sheet.err;
  const test::Pattern words("libxlsxwriter\\.so\\.([0-9]+) cannot be loaded; apt-get install libxlsxwriter\\1,");
  EXPECT_FALSE(words.first_in(sheet.err).empty()) << sheet.err;
}

}  // namespace command_libraries_test
}  // namespace tensorstat
