// Any file call of the command may fail. The file of -o is then the complete old one or a complete new one, nothing
// else is left behind, and the exit status and a message report the fault.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/file_faults.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_file_faults_test {

using test::FileFault;
using test::holds;
using test::Ran;

constexpr char kOld[] = "what was there before\n";
constexpr char kArguments[] = "a.npy b.npy --stats all --on host -o out.csv";
enum { kDone = 0, kNotRead = 3, kNotWritten = 5 };

class CommandFileFaults : public testing::Test {
 protected:
  CommandFileFaults() {
    test::write_file(folder / "a.npy", file_of(3));
    test::write_file(folder / "b.npy", file_of(5));
    for (const char* only : {"a.npy", "b.npy", "a.npy b.npy"}) {
      const Ran ran = test::run(folder, std::string(only) + " --stats all --on host --format csv");
      EXPECT_EQ(ran.exit, kDone) << ran.err;
      whole_.insert(ran.out);
      both_ = ran.out;
    }
  }

  static std::string file_of(int count) {
    return test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }",
                     std::string(4 * count, '\x3f'));
  }

  // Runs the command with the fault. Returns whether the fault occurred.
  bool run_with(const FileFault& fault) {
    test::write_file(folder / "out.csv", kOld);
    ScratchFolder marks;
    const std::string environment =
        "LD_PRELOAD='" + built::file_fault_library() + "' ASAN_OPTIONS=verify_asan_link_order=0 " +
        ("FILE_FAULT_MARK='" + (marks / "mark")) + "' FILE_FAULT='" + std::to_string(static_cast<int>(fault.call)) +
        " " + std::to_string(fault.first) + " " + std::to_string(fault.last) + " " +
        std::to_string(fault.verdict.error) + " " + std::to_string(fault.verdict.most_bytes) + "'";
    ran = test::run(folder, kArguments, environment);
    content = content_of(folder / "out.csv");
    return std::filesystem::exists(marks / "mark");
  }

  void expect_nothing_left() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      names.insert(entry.path().filename());
    }
    EXPECT_EQ(names, (std::set<std::string>{"a.npy", "b.npy", "out.csv"}));
  }

  void expect_whole(const FileFault& fault) const {
    expect_nothing_left();
    switch (ran.exit) {
      case kDone:
        EXPECT_EQ(content, both_);
        EXPECT_EQ(ran.err, "");
        return;
      case kNotRead:
        EXPECT_TRUE(content == kOld || whole_.contains(content)) << content;
        EXPECT_NE(content, both_);
        EXPECT_TRUE(holds(ran.err, "a.npy: ") || holds(ran.err, "b.npy: ")) << ran.err;
        break;
      default:
        EXPECT_EQ(ran.exit, kNotWritten) << ran.err;
        EXPECT_EQ(content, kOld);
        EXPECT_PRED2(holds, ran.err, "out.csv: cannot be written: ");
    }
    EXPECT_PRED2(holds, ran.err, std::strerror(fault.verdict.error));
  }

  ScratchFolder folder;
  Ran ran;
  std::string content, both_;
  std::set<std::string> whole_;  // all complete tables: of a, of b, of both
};

TEST_F(CommandFileFaults, EveryCallWithEveryErrno) {
  int injected = 0;
  std::set<int> exits;
  bool any = true;
  for (int nth = 1; any; ++nth) {
    any = false;
    ASSERT_LT(nth, 100) << "there is no end to its file calls";
    for (const FileFault& fault : test::faults_at(nth)) {
      if (!run_with(fault)) continue;
      SCOPED_TRACE(fault.words());
      any = true;
      ++injected;
      exits.insert(ran.exit);
      expect_whole(fault);
    }
  }
  EXPECT_EQ(exits, (std::set<int>{kDone, kNotWritten, kNotRead}));
  EXPECT_GE(injected, 60);
  std::cout << injected << " faults injected\n";
}

TEST_F(CommandFileFaults, InterruptedOrHalfDoneCallsAreDoneAgain) {
  for (const FileCall call : {FileCall::kRead, FileCall::kWrite}) {
    for (const Verdict& verdict : {Verdict{.error = EINTR}, Verdict{.most_bytes = 1}}) {
      const FileFault fault{call, 1, verdict.error != 0 ? 3 : test::kForEver, verdict};
      SCOPED_TRACE(fault.words());
      EXPECT_TRUE(run_with(fault));
      EXPECT_EQ(ran.exit, kDone) << ran.err;
      EXPECT_EQ(content, both_);
    }
  }
}

TEST_F(CommandFileFaults, AnInputThatIsCutShortMeanwhile) {
  EXPECT_TRUE(run_with({FileCall::kRead, 2, 2, {.most_bytes = 0}}));
  EXPECT_EQ(ran.exit, kNotRead);
  EXPECT_PRED2(holds, ran.err, "b.npy: was cut short while being read");
  EXPECT_TRUE(whole_.contains(content) && content != both_) << content;
}

// By default the signal SIGXFSZ kills the process.
TEST_F(CommandFileFaults, AFileSizeLimit) {
  test::write_file(folder / "out.csv", kOld);
  ran = test::run(folder, kArguments, "prlimit --fsize=100");
  EXPECT_EQ(ran.exit, kNotWritten) << ran.err;
  EXPECT_PRED2(holds, ran.err, std::strerror(EFBIG));
  EXPECT_EQ(content_of(folder / "out.csv"), kOld);
  expect_nothing_left();
}

}  // namespace command_file_faults_test
}  // namespace tensorstat
