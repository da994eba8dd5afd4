// A full or failing disk loses no row and stops no job: rows wait, are counted, and are written when the disk works
// again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "stats/data/rows/append_file.hpp"
#include "stats/data/rows/csv/statistic_csv.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace rows_outlive_faults_test {

std::string row_of(int row) { return std::to_string(row) + "," + std::string(40, 'r') + "\n"; }

FileCall failing_call;
Verdict failure;
int calls_left = 0;  // the next calls that fail; -1: all

Verdict fail_as_told(FileCall call) {
  if (call != failing_call || calls_left == 0) return {};
  if (calls_left > 0) --calls_left;
  return failure;
}

struct Fault {
  FileCall call;
  int error;
  const char* name;
};
constexpr Fault kFaults[] = {
    {FileCall::kOpen, EMFILE, "open EMFILE"},     {FileCall::kOpen, ENFILE, "open ENFILE"},
    {FileCall::kOpen, EROFS, "open EROFS"},       {FileCall::kOpen, ENOSPC, "open ENOSPC"},
    {FileCall::kOpen, EIO, "open EIO"},           {FileCall::kOpen, EINTR, "open EINTR"},
    {FileCall::kStat, EIO, "fstat EIO"},          {FileCall::kRead, EIO, "pread EIO"},
    {FileCall::kWrite, ENOSPC, "write ENOSPC"},   {FileCall::kWrite, EDQUOT, "write EDQUOT"},
    {FileCall::kWrite, EIO, "write EIO"},         {FileCall::kWrite, EFBIG, "write EFBIG"},
    {FileCall::kWrite, EINTR, "write EINTR"},     {FileCall::kWrite, EROFS, "write EROFS"},
    {FileCall::kTruncate, EIO, "ftruncate EIO"},  {FileCall::kLock, ENOLCK, "flock ENOLCK"},
    {FileCall::kLock, EWOULDBLOCK, "flock held"}, {FileCall::kSync, EIO, "fsync EIO"},
};

class RowsOutlive : public testing::TestWithParam<Fault> {
 protected:
  ~RowsOutlive() override { judge_file_call = nullptr; }

  std::shared_ptr<Notices> fresh_notices() {
    return std::make_shared<Notices>([this](Severity, std::string_view message) { ++messages[std::string(message)]; });
  }
  std::shared_ptr<Notices> notices = fresh_notices();
  std::map<std::string, int> messages;
  ScratchFolder folder;
  const std::string path = folder / "statistic.csv";
};

TEST_P(RowsOutlive, EveryFaultOnceAndForAWhile) {
  for (const int how_often : {1, -1}) {
    if (how_often == -1 && GetParam().error == EINTR) continue;  // it would rightly retry for ever
    std::filesystem::remove(path);
    std::ofstream(path) << "heading\n" << row_of(0) << "torn";
    messages.clear();
    AppendFile file(
        {.path = path, .header = "heading\n", .sync = Sync::kRow, .lock_deadline = std::chrono::milliseconds(1)},
        fresh_notices());
    failing_call = GetParam().call;
    failure = {.error = GetParam().error};
    calls_left = how_often;
    judge_file_call = fail_as_told;
    std::string whole = "heading\n" + row_of(0);
    for (int row = 1; row <= 5; ++row) {
      const auto outcome = file.append(row_of(row));
      EXPECT_NE(outcome, AppendFile::Outcome::kDropped);
      whole += row_of(row);
      if (outcome == AppendFile::Outcome::kWritten) {
        EXPECT_EQ(content_of(path), whole) << "acknowledged, and not there";
      }
    }
    judge_file_call = nullptr;
    EXPECT_EQ(file.append(row_of(6)), AppendFile::Outcome::kWritten);
    EXPECT_EQ(content_of(path), whole + row_of(6));
    const auto counters = file.counters();
    EXPECT_EQ(counters.written_count, 6u);
    EXPECT_EQ(counters.waiting_count, 0u);
    EXPECT_EQ(counters.dropped_count, 0u);
    for (const auto& [message, times] : messages) EXPECT_EQ(times, 1) << message;
    if (how_often == -1) {
      EXPECT_GE(counters.fault_count, 1u);
      ASSERT_EQ(messages.size(), 1u);
      EXPECT_NE(messages.begin()->first.find(path), std::string::npos) << messages.begin()->first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, RowsOutlive, testing::ValuesIn(kFaults), [](const auto& one) {
  std::string name = one.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

using RowsOutliveOthers = RowsOutlive;

// The page cache always shows the rows. So these tests count the calls that sync the disk, and make them fail.
class RowsReachTheDisk : public RowsOutlive {
 protected:
  RowsReachTheDisk() {
    syncs = folder_syncs = cuts = 0;
    sync_fails = folder_sync_fails = cut_fails = false;
    judge_file_call = [](FileCall call) -> Verdict {
      if (call == FileCall::kSync) return ++syncs, Verdict{.error = sync_fails ? EIO : 0};
      if (call == FileCall::kSyncFolder) return ++folder_syncs, Verdict{.error = folder_sync_fails ? EIO : 0};
      if (call == FileCall::kTruncate) return ++cuts, Verdict{.error = cut_fails ? EIO : 0};
      return {};
    };
  }
  static inline int syncs, folder_syncs, cuts;
  static inline bool sync_fails, folder_sync_fails, cut_fails;
};

TEST_F(RowsReachTheDisk, TheNameOfTheFileBeforeItsFirstRowCountsAsWritten) {
  const std::string below = folder / "new/newer/statistic.csv";
  AppendFile file({.path = below, .header = "heading\n", .sync = Sync::kRow}, notices);
  folder_sync_fails = true;
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(content_of(below), "");
  EXPECT_EQ(messages.size(), 1u);
  folder_sync_fails = false;
  folder_syncs = 0;
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWritten);
  EXPECT_GE(folder_syncs, 3) << "the new folders have names, too";
  folder_syncs = 0;
  EXPECT_EQ(file.append(row_of(2)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(folder_syncs, 0) << "once is enough";
  EXPECT_EQ(content_of(below), "heading\n" + row_of(0) + row_of(1) + row_of(2));
  std::filesystem::remove(below);
  EXPECT_EQ(file.append(row_of(3)), AppendFile::Outcome::kWritten);
  EXPECT_GE(folder_syncs, 3) << "a file that was removed is a new one";
  folder_syncs = 0;
  AppendFile unsynced({.path = path}, notices);
  EXPECT_EQ(unsynced.append(row_of(0)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(folder_syncs, 0);
}

TEST_F(RowsReachTheDisk, EachRowBeforeItCountsAsWritten) {
  AppendFile file({.path = path, .header = "heading\n", .sync = Sync::kRow}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(syncs, 1);
  sync_fails = true;
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(syncs, 2);
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0)) << "what the disk refused is taken off again";
  EXPECT_EQ(file.append(row_of(2)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(file.counters().written_count, 1u);
  EXPECT_EQ(file.counters().waiting_count, 2u);
  sync_fails = false;
  EXPECT_EQ(file.append(row_of(3)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(syncs, 4);
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(1) + row_of(2) + row_of(3));
  EXPECT_EQ(file.counters().written_count, 4u);
  EXPECT_EQ(file.counters().waiting_count, 0u);
}

TEST_F(RowsReachTheDisk, WhatIsRefusedAndCannotBeTakenOffIsLostOnce) {
  AppendFile file({.path = path, .sync = Sync::kRow}, notices);
  sync_fails = cut_fails = true;
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kDropped);
  sync_fails = cut_fails = false;
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(file.counters().written_count, 1u);
  EXPECT_EQ(file.counters().dropped_count, 1u);
  EXPECT_EQ(content_of(path), row_of(0) + row_of(1)) << "and not written twice";
}

TEST_F(RowsReachTheDisk, WhenTheFileIsClosed) {
  for (const Sync sync : {Sync::kNever, Sync::kClose, Sync::kRow}) {
    syncs = 0;
    AppendFile file({.path = path, .sync = sync}, notices);
    EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
    file.close();
    EXPECT_EQ(syncs, sync == Sync::kNever ? 0 : sync == Sync::kClose ? 1 : 2);
  }
  AppendFile file({.path = path}, notices);
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(file.counters().written_count, 1u);
  sync_fails = true;
  file.close();
  EXPECT_EQ(file.counters().written_count, 0u);
  EXPECT_EQ(file.counters().dropped_count, 1u);
  EXPECT_TRUE(
      messages.count(path + ": 1 line may be lost: the disk did not take it; lines of other files may be, too"));
}

TEST_F(RowsOutliveOthers, WhatWaitsSurvivesTheReleaseOfTheFile) {
  AppendFile file({.path = path, .header = "heading\n", .read_only_when_closed = true}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  failing_call = FileCall::kWrite;
  failure = {.error = ENOSPC};
  calls_left = -1;
  judge_file_call = fail_as_told;
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWaiting);
  EXPECT_FALSE(file.release());
  EXPECT_EQ(file.counters().waiting_count, 1u);
  judge_file_call = nullptr;
  EXPECT_TRUE(file.release());
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(1));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read);
}

TEST_F(RowsOutliveOthers, FilesThatShareATallyShareItsMemory) {
  const auto tally = std::make_shared<LineTally>();
  AppendFile stuck({.path = folder.path(), .queue_bytes = 100, .tally = tally}, notices);  // a folder cannot be written
  AppendFile other({.path = path, .queue_bytes = 100, .tally = tally}, notices);
  EXPECT_EQ(stuck.append(row_of(0)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(stuck.append(row_of(1)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(stuck.append(row_of(2)), AppendFile::Outcome::kDropped);
  EXPECT_EQ(other.append(row_of(3)), AppendFile::Outcome::kWritten) << "it need not wait, so it needs no room";
  failing_call = FileCall::kWrite;
  failure = {.error = ENOSPC};
  calls_left = -1;
  judge_file_call = fail_as_told;
  EXPECT_EQ(other.append(row_of(4)), AppendFile::Outcome::kDropped);
  judge_file_call = nullptr;
  EXPECT_EQ(other.append(row_of(5)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(path), row_of(3) + row_of(5));
  EXPECT_EQ(tally->written, 2u);
  EXPECT_EQ(tally->waiting, 2u);
  EXPECT_EQ(tally->dropped, 2u);
}

TEST_F(RowsOutliveOthers, APieceOfABatchWrittenBeforeTheFault) {
  for (std::size_t bytes = 0; bytes < 90; ++bytes) {
    std::filesystem::remove(path);
    AppendFile file({.path = path, .header = "heading\n"}, notices);
    static std::size_t first_bytes;
    static int calls;
    first_bytes = bytes;
    calls = 0;
    judge_file_call = [](FileCall call) -> Verdict {
      if (call != FileCall::kWrite) return {};
      if (++calls == 1) return {.most_bytes = std::max<std::size_t>(first_bytes, 1)};
      return calls < 4 ? Verdict{.error = ENOSPC} : Verdict{};
    };
    for (int row = 0; row < 5; ++row) {
      file.append(row_of(row));
      const auto text = content_of(path);
      EXPECT_TRUE(text.empty() || text.back() == '\n') << text;
    }
    judge_file_call = nullptr;
    file.append(row_of(5));
    std::string whole = "heading\n";
    for (int row = 0; row <= 5; ++row) whole += row_of(row);
    EXPECT_EQ(content_of(path), whole);
  }
}

TEST_F(RowsOutliveOthers, AFileSizeLimitThatWouldKillTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    AppendFile file({.path = path, .header = "heading\n"}, notices);
    int written = 0;
    for (int row = 0; row < 100; ++row) {
      written += file.append(row_of(row)) == AppendFile::Outcome::kWritten;
    }
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
    const bool all = file.append(row_of(100)) == AppendFile::Outcome::kWritten;
    sigset_t pending;
    sigpending(&pending);
    _exit(written < 25 && written > 15 && all && !sigismember(&pending, SIGXFSZ) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::string whole = "heading\n";
  for (int row = 0; row <= 100; ++row) whole += row_of(row);
  EXPECT_EQ(content_of(path), whole);
}

TEST_F(RowsOutliveOthers, WhatDoesNotFitTheQueueIsCountedAndSaid) {
  AppendFile file({.path = path, .header = "heading\n", .queue_bytes = 200}, notices);
  failing_call = FileCall::kWrite;
  failure = {.error = ENOSPC};
  calls_left = -1;
  judge_file_call = fail_as_told;
  int waiting = 0, dropped = 0;
  for (int row = 0; row < 10; ++row) {
    const auto outcome = file.append(row_of(row));
    waiting += outcome == AppendFile::Outcome::kWaiting;
    dropped += outcome == AppendFile::Outcome::kDropped;
  }
  EXPECT_EQ(waiting, 4);
  EXPECT_EQ(dropped, 6);
  EXPECT_EQ(file.counters().dropped_count, 6u);
  EXPECT_EQ(file.counters().waiting_count, 4u);
  EXPECT_EQ(messages.size(), 2u) << "one for the disk, one for the queue";
  judge_file_call = nullptr;
  file.close();
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(1) + row_of(2) + row_of(3));
}

TEST_F(RowsOutliveOthers, WhatIsStillWaitingAtTheEndIsSaid) {
  AppendFile file({.path = path}, notices);
  failing_call = FileCall::kOpen;
  failure = {.error = EMFILE};
  calls_left = -1;
  judge_file_call = fail_as_told;
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWaiting);
  file.close();
  EXPECT_EQ(file.counters().dropped_count, 1u);
  EXPECT_TRUE(messages.count(path + ": 1 line could not be written and is lost; lines of other files may be, too"));
}

TEST_F(RowsOutliveOthers, AStoppedHolderOfTheLock) {
  AppendFile file({.path = path, .header = "heading\n", .lock_deadline = std::chrono::milliseconds(20)}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  const int holder = open(path.c_str(), O_RDONLY);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(file.append(row_of(2)), AppendFile::Outcome::kWaiting);
  EXPECT_EQ(messages.size(), 1u);
  close(holder);
  EXPECT_EQ(file.append(row_of(3)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(1) + row_of(2) + row_of(3));
}

TEST_F(RowsOutliveOthers, AFork) {
  AppendFile file({.path = path, .header = "heading\n"}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  failing_call = FileCall::kWrite;
  failure = {.error = ENOSPC};
  calls_left = 1;
  judge_file_call = fail_as_told;
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWaiting);
  judge_file_call = nullptr;
  const pid_t child = fork();
  if (child == 0) {  // the parent writes row 1
    _exit(file.append(row_of(2)) == AppendFile::Outcome::kWritten ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(file.append(row_of(3)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(2) + row_of(1) + row_of(3));
}

TEST_F(RowsOutliveOthers, RemovalReadOnlyModeAndMissingFolders) {
  const std::string deep = folder / "a/b/statistic.csv";
  AppendFile file({.path = deep, .header = "heading\n", .read_only_when_closed = true}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  std::filesystem::remove_all(folder / "a");
  EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWritten);
  file.close();
  EXPECT_EQ(std::filesystem::status(deep).permissions(), std::filesystem::perms::owner_read);
  EXPECT_EQ(file.append(row_of(2)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(deep), "heading\n" + row_of(1) + row_of(2));
  EXPECT_TRUE(messages.empty());
}

// A reader would assign the values to the first heading.
TEST_F(RowsOutliveOthers, RowsOfAnotherHeadingAreInAFileOfTheirOwn) {
  const std::string other = "other\x1b,columns,and,more\n1,2,3,4\n";
  std::ofstream(path) << other;
  for (int run = 0; run < 2; ++run) {
    AppendFile file({.path = path, .header = "heading\n"}, notices);
    EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
    EXPECT_EQ(file.append(row_of(1)), AppendFile::Outcome::kWritten);
  }
  EXPECT_EQ(content_of(path), other);
  const std::string own = numbered_path(path, 2);
  EXPECT_EQ(content_of(own), "heading\n" + row_of(0) + row_of(1) + row_of(0) + row_of(1));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages.begin()->second, 1);
  EXPECT_NE(messages.begin()->first.find("the rows of this run are in " + own), std::string::npos)
      << messages.begin()->first;
  // A third heading, while the file is open: somebody has put another in its place.
  AppendFile third({.path = path, .header = "third\n"}, notices);
  EXPECT_EQ(third.append(row_of(0)), AppendFile::Outcome::kWritten);
  std::ofstream(numbered_path(path, 3)) << "another\n";
  EXPECT_EQ(third.append(row_of(1)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(numbered_path(path, 3)), "another\n");
  EXPECT_EQ(content_of(numbered_path(path, 4)), "third\n" + row_of(1));
}

TEST_F(RowsOutliveOthers, RowsOfAnotherDialectUnderTheSameHeadingAre) {
  Row row;
  row.identity = {.op_type = "Add", .op_name = "a", .io = "output"};
  row.data_type = "float32";
  row.shape = {5};
  row.statistics = Statistics({Category::kMax}, {Value(5.0)});
  const Dialect dialects[] = {Dialect::kOurs, Dialect::kMindspore27, Dialect::kMindsporeNext};
  for (const Dialect first : dialects) {
    for (const Dialect second : dialects) {
      std::filesystem::remove(path);
      std::filesystem::remove(numbered_path(path, 2));
      for (const Dialect dialect : {first, second}) {
        AppendFile file({.path = path, .header = csv_header({Category::kMax}, dialect)}, notices);
        EXPECT_EQ(file.append(csv_row(row, dialect)), AppendFile::Outcome::kWritten);
      }
      EXPECT_EQ(std::filesystem::exists(numbered_path(path, 2)), first != second);
      const std::string& of_second = first == second ? path : numbered_path(path, 2);
      EXPECT_TRUE(content_of(of_second).ends_with(csv_row(row, second)));
    }
  }
}

// A program that closes descriptors that it does not know, and then opens files of its own.
TEST_F(RowsOutliveOthers, ADescriptorThatTheProgramHasTaken) {
  for (const Sync sync : {Sync::kNever, Sync::kClose, Sync::kRow}) {
    std::filesystem::remove(path);
    AppendFile file({.path = path, .header = "heading\n", .sync = sync}, notices);
    EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
    for (int row = 1; row < 4; ++row) {
      int taken = -1;
      for (int number = 3; number < 256; ++number) {
        char name[4096] = {};
        const std::string link = "/proc/self/fd/" + std::to_string(number);
        if (readlink(link.c_str(), name, sizeof name - 1) > 0 && name == path) taken = number;
      }
      ASSERT_GT(taken, 2);
      const std::string theirs = folder / "theirs";
      const int opened = ::open(theirs.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
      ASSERT_EQ(dup2(opened, taken), taken);
      close(opened);
      EXPECT_EQ(file.append(row_of(row)), AppendFile::Outcome::kWritten);
      EXPECT_GE(fcntl(taken, F_GETFD), 0) << "it was closed";
      EXPECT_EQ(content_of(theirs), "");
      close(taken);
    }
    file.close();
    EXPECT_EQ(content_of(path), "heading\n" + row_of(0) + row_of(1) + row_of(2) + row_of(3));
    EXPECT_EQ(file.counters().dropped_count, 0u);
  }
}

TEST_F(RowsOutliveOthers, ABeginningOfTheHeadingIsCompleted) {
  std::ofstream(path) << "head";
  AppendFile file({.path = path, .header = "heading\n"}, notices);
  EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWritten);
  EXPECT_EQ(content_of(path), "heading\n" + row_of(0));
  EXPECT_TRUE(messages.empty());
}

TEST_F(RowsOutliveOthers, SomethingThatIsNoFile) {
  for (const std::string& path : {std::string("/dev/full"), folder.path()}) {
    AppendFile file({.path = path}, notices);
    messages.clear();
    EXPECT_EQ(file.append(row_of(0)), AppendFile::Outcome::kWaiting);
    EXPECT_NE(messages.begin()->first.find(path), path.npos);
  }
}

}  // namespace rows_outlive_faults_test
}  // namespace tensorstat
