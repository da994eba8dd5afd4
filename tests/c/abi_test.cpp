// A program built with an earlier header of this major version runs with today's library. Only new functions, and new
// fields at the end of structs, are allowed. abidiff compares the header with the stored baseline
// (tests/c/abi_baseline.xml). For that, the header is compiled with a body for each function. The test also makes a
// forbidden change, which abidiff must find.
//
// To keep a new baseline, for a new major version: TENSORSTAT_NEW_BASELINE=1 tests/run -R abi_test
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/patterns.hpp"
#include "tests/support/scratch_folder.hpp"

namespace abi_test {

namespace test = tensorstat::test;

const test::Pattern kTypeSize("^  type size changed from ([0-9]+) to [0-9]+ \\(in bits\\)$");
const test::Pattern kMemberOffset("^    '.*', at offset ([0-9]+) \\(in bits\\)$");
const std::string kBaseline = built::source_dir() + "/tests/c/abi_baseline.xml";

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string without_comments(const std::string& header) {
  return test::replaced(header, R"( */\*[^*]*\*+([^/*][^*]*\*+)*/)", "");
}

// The header, with a body for each declared function.
std::string with_bodies(const std::string& header) {
  std::string text = header;
  const test::Pattern declared(R"(TENSORSTAT_API ([^;{}]*\));)");
  for (const auto& match : declared.all_in(header)) text += match[1] + " { __builtin_trap(); }\n";
  return text;
}

class Abi : public testing::Test {
 protected:
  void SetUp() override {
    if (run("command -v abidiff >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no abidiff here (abigail-tools)";
    const std::string folder = built::source_dir() + "/stats/tensorstat/";
    header_ = without_comments(content_of(folder + "core.h") + content_of(folder + "tensorstat.h"));
    header_ = replaced("#include <tensorstat/core.h>\n", "");
  }

  std::string library_of(const std::string& header) {
    std::ofstream(folder_ / "abi.c") << with_bodies(header);
    EXPECT_EQ(
        run("cd '" + folder_.path() + "' && cc -std=c11 -g -fPIC -shared -Wl,-soname,libtensorstat.so -o abi.so abi.c"),
        0);
    return folder_ / "abi.so";
  }
  // abidiff's report, without new functions and without new fields at the end of structs that begin with their size.
  std::string changes(const std::string& header) {
    const std::string library = library_of(header);
    run("abidiff --leaf-changes-only --no-show-locs --no-added-syms '" + kBaseline + "' '" + library + "' >'" +
        (folder_ / "said") + "' 2>&1");
    std::istringstream lines(content_of(folder_ / "said"));
    std::string changed;
    unsigned long end_of_struct = ~0ul;
    for (std::string line; std::getline(lines, line);) {
      test::Pattern::Match match;
      if (line.find(" summary: ") != line.npos || line.empty()) continue;
      if (test::matches(line, "'struct tensorstat_[a-z_]+' changed:") &&
          // callers have arrays of these, so they must not grow
          line.find("tensorstat_value'") == line.npos && line.find("tensorstat_cell'") == line.npos) {
        end_of_struct = ~0ul;
      } else if (match = kTypeSize.first_in(line); !match.empty()) {
        end_of_struct = std::stoul(match[1]);
      } else if (test::matches(line, "  [0-9]+ data member insertions?:")) {
      } else if (match = kMemberOffset.first_in(line); !match.empty() && std::stoul(match[1]) >= end_of_struct) {
      } else {
        changed += line + "\n";
      }
    }
    return changed;
  }
  std::string replaced(const std::string& from, const std::string& to) const {
    EXPECT_NE(header_.find(from), header_.npos) << from;
    std::string changed = header_;
    return changed.replace(changed.find(from), from.size(), to);
  }

  const ScratchFolder folder_;
  std::string header_;
};

TEST_F(Abi, IsThatOfTheBaseline) {
  if (std::getenv("TENSORSTAT_NEW_BASELINE") != nullptr) {
    ASSERT_EQ(run("abidw --no-corpus-path --no-comp-dir-path --no-show-locs --out-file '" + kBaseline + "' '" +
                  library_of(header_) + "'"),
              0);
  }
  EXPECT_EQ(changes(header_), "");
}

TEST_F(Abi, MayGrow) {
  EXPECT_EQ(changes(replaced("  double cast_scale;\n} tensorstat_request;",
                             "  double cast_scale;\n  int64_t more;\n} tensorstat_request;")),
            "");
  EXPECT_EQ(changes(header_ + "TENSORSTAT_API int tensorstat_new(int number);\n"), "");
}

TEST_F(Abi, MayNotChange) {
  EXPECT_NE(changes(replaced("  int32_t precision;\n  int32_t on;\n", "  int32_t on;\n  int32_t precision;\n")), "");
  EXPECT_NE(changes(replaced("  int32_t precision;\n", "  int64_t precision;\n")), "");
  EXPECT_NE(changes(replaced("  int32_t precision;\n", "")), "");
  EXPECT_NE(changes(replaced("  int32_t precision;\n", "  int64_t more;\n  int32_t precision;\n")), "");
  EXPECT_NE(changes(replaced("  } is;\n} tensorstat_value;", "  } is;\n  uint64_t more;\n} tensorstat_value;")), "");
  EXPECT_NE(changes(replaced("TENSORSTAT_API void tensorstat_meter_close(tensorstat_meter* meter);", "")), "");
  EXPECT_NE(changes(replaced("tensorstat_dtype_bytes(int32_t dtype)", "tensorstat_dtype_bytes(int64_t dtype)")), "");
}

}  // namespace abi_test
