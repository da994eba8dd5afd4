// The ring of the last steps harms nobody: whatever others do with its file is an error and no signal, no two processes
// write one file, and no step is lost that nobody destroyed.
#include "stats/job/alerts/step_ring.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "stats/job/alerts/kept_row.hpp"
#include "stats/job/alerts/kept_steps.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace step_ring_test {

StepRingOptions options_of(const ScratchFolder& folder) {
  return {.folder = folder / "rank_0",
          .rank = 0,
          .slot_count = 4,
          .most_bytes = std::uint64_t{64} << 20,
          .about = to_text({.categories = {Category::kMax}})};
}

std::string row_bytes(std::uint64_t process, std::uint64_t step) {
  Row row;
  row.identity.op_type = std::to_string(process);
  row.identity.op_name = std::to_string(step) + std::string(300, 'n');
  row.identity.io = "output";
  row.data_type = "float32";
  row.statistics = Statistics({Category::kMax}, {Value(1.0)});
  std::string bytes;
  append_kept_row(row, 0, false, bytes);
  return bytes;
}

void run_step(StepRing& ring, std::uint64_t process, std::uint64_t step, int rows, std::vector<std::string>& errors) {
  const auto note = [&](const Status& status) {
    if (!status) errors.push_back(status.error().message);
  };
  note(ring.begin_step(step));
  for (int i = 0; i < rows; ++i) note(ring.append(row_bytes(process, step)));
  note(ring.end_step());
}

std::vector<std::string> rings_in(const std::string& folder) {
  std::vector<std::string> rings;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".ring") rings.push_back(entry.path());
  }
  return rings;
}

// Returns the child's wait status.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(StepRing, ProcessesThatBeginTogetherKeepTheirSteps) {
  constexpr int kProcesses = 6, kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    ScratchFolder folder;
    int gate[2];
    ASSERT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int process = 0; process < kProcesses; ++process) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      close(gate[1]);
      char ignored;
      if (read(gate[0], &ignored, 1) != 0) _exit(1);  // until the parent closes its end
      auto ring = StepRing::open(options_of(folder));
      if (!ring) _exit(2);
      std::vector<std::string> errors;
      for (int step = 0; step < 4; ++step) run_step(**ring, process, step, 60 * (step + 1), errors);
      if (!errors.empty()) _exit(3);
      kill(getpid(), SIGKILL);
    }
    close(gate[0]);
    close(gate[1]);
    for (const pid_t child : children) {
      int status = -1;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    std::multiset<std::string> kept;
    for (const std::string& path : rings_in(folder / "rank_0")) {
      const auto read = read_ring_file(path);
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_FALSE(read->steps.empty());
      EXPECT_EQ(read->steps.back().step, 3u);
      EXPECT_EQ(read->steps.back().rows.size(), 240u);
      for (const KeptRow& row : read->steps.back().rows) {
        EXPECT_EQ(row.row.identity.op_type, read->steps.back().rows.front().row.identity.op_type);
      }
      kept.insert(read->steps.back().rows.front().row.identity.op_type);
    }
    EXPECT_EQ(kept, (std::multiset<std::string>{"0", "1", "2", "3", "4", "5"}));
  }
}

// A step may end and go on: an alert ends it, and rows that come late are of it.
TEST(StepRing, AStepThatGoesOnIsOneStep) {
  ScratchFolder folder;
  auto ring = StepRing::open(options_of(folder));
  std::vector<std::string> errors;
  for (const std::uint64_t step : {0, 1, 1, 2, 2, 2}) run_step(**ring, 0, step, 5, errors);
  EXPECT_EQ(errors, std::vector<std::string>());
  const auto read = read_ring_file((*ring)->path());
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::pair<std::uint64_t, std::size_t>> kept;
  for (const KeptStep& step : read->steps) kept.emplace_back(step.step, step.rows.size());
  EXPECT_EQ(kept, (std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 5}, {1, 10}, {2, 15}}));
}

// Cron and daemons close them. What the job prints then must not land in the ring.
TEST(StepRing, HasNoStandardDescriptor) {
  ScratchFolder folder;
  EXPECT_EQ(in_child([&] {
              for (const int standard : {0, 1, 2}) close(standard);
              auto ring = StepRing::open(options_of(folder));
              std::vector<std::string> errors;
              run_step(**ring, 0, 1, 300, errors);  // it grows
              const bool is_lost = write(0, "said", 4) < 0 && write(1, "said", 4) < 0 && write(2, "said", 4) < 0;
              return errors.empty() && is_lost ? 0 : 1;
            }),
            0);
  EXPECT_EQ(read_ring_file(folder / "rank_0/last_steps.ring")->steps.back().rows.size(), 300u);
}

// Each time the call that sees it says so, and the steps from then on are kept.
TEST(StepRing, SurvivesWhatOthersDoWithItsFile) {
  const auto truncate_to = [](off_t size) {
    return [size](const std::string& path) { EXPECT_EQ(truncate(path.c_str(), size), 0); };
  };
  const auto write_over = [](const std::string& path) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << std::string(64, '\xff');
  };
  const std::pair<const char*, std::function<void(const std::string&)>> deeds[] = {
      {"cut to nothing", truncate_to(0)},
      {"cut in the header", truncate_to(40)},
      {"cut in a slot", truncate_to(5000)},
      {"written over", write_over},
      {"removed", [](const std::string& path) { std::filesystem::remove(path); }},
      {"removed with its folder",
       [](const std::string& path) { std::filesystem::remove_all(std::filesystem::path(path).parent_path()); }},
  };
  for (const bool within_a_step : {false, true}) {
    for (const auto& [words, deed] : deeds) {
      SCOPED_TRACE(std::string(words) + (within_a_step ? " within a step" : ""));
      ScratchFolder folder;
      const int status = in_child([&, &deed = deed] {
        auto ring = StepRing::open(options_of(folder));
        std::vector<std::string> errors;
        for (std::uint64_t step = 0; step < 3; ++step) run_step(**ring, 0, step, 100, errors);
        if (!errors.empty()) return 1;
        if (within_a_step && (!(*ring)->begin_step(3) || !(*ring)->append(row_bytes(0, 3)))) return 2;
        deed((*ring)->path());
        for (std::uint64_t step = 3; step < 6; ++step) run_step(**ring, 0, step, 100, errors);
        if (errors.size() != 1) return 3;
        return errors.front().find("somebody has") != std::string::npos ? 0 : 4;
      });
      EXPECT_EQ(status, 0) << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
      const auto read = read_ring_file(folder / "rank_0/last_steps.ring");
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(read->steps.size(), 3u);
      EXPECT_EQ(read->steps.front().step, 3u);
      EXPECT_EQ(read->steps.back().rows.size(), 100u);
    }
  }
}

// A program that closes descriptors that it does not know, and then opens files of its own.
TEST(StepRing, WritesIntoNoFileOfTheProgram) {
  ScratchFolder folder;
  EXPECT_EQ(in_child([&] {
              auto ring = StepRing::open(options_of(folder));
              std::vector<std::string> errors;
              run_step(**ring, 0, 0, 3, errors);
              for (int file = 3; file < 64; ++file) close(file);
              std::vector<int> theirs;
              for (int i = 0; i < 40; ++i) {
                theirs.push_back(open((folder / ("mine" + std::to_string(i))).c_str(), O_RDWR | O_CREAT, 0600));
              }
              for (std::uint64_t step = 1; step < 4; ++step) run_step(**ring, 0, step, 200, errors);
              for (const int file : theirs) {
                if (fcntl(file, F_GETFD) < 0 || lseek(file, 0, SEEK_END) != 0) return 1;
              }
              return errors.empty() ? 0 : 2;
            }),
            0);
  EXPECT_EQ(rings_in(folder / "rank_0").size(), 1u);
  const auto read = read_ring_file(folder / "rank_0/last_steps.ring");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->steps.back().rows.size(), 200u);
}

// The reader never takes rows of one step for those of another, though the slot is written while it reads.
TEST(StepRing, IsReadWhileItIsWritten) {
  ScratchFolder folder;
  auto options = options_of(folder);
  auto ring = StepRing::open(options);
  ASSERT_TRUE(ring) << ring.error().message;
  const pid_t reader = fork();
  if (reader == 0) {
    int reads = 0;
    for (int i = 0; i < 200; ++i) {
      const auto read = read_ring_file(folder / "rank_0/last_steps.ring");
      if (!read) continue;
      ++reads;
      for (const KeptStep& step : read->steps) {
        for (const KeptRow& row : step.rows) {
          if (std::stoull(row.row.identity.op_name) != step.step) _exit(1);
        }
      }
    }
    _exit(reads != 0 ? 0 : 2);
  }
  std::vector<std::string> errors;
  int status = -1;
  for (std::uint64_t step = 0; waitpid(reader, &status, WNOHANG) == 0; ++step) run_step(**ring, 0, step, 20, errors);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(errors, std::vector<std::string>());
}

// Nothing hidden stays after a kill; the rings of eight dead processes do.
TEST(StepRing, TheNextRunCleansUp) {
  ScratchFolder folder;
  std::filesystem::create_directories(folder / "rank_0");
  std::ofstream(folder / "rank_0/.new-1-ring-0") << "left by a killed process";
  for (std::uint64_t process = 0; process < 12; ++process) {
    const auto ring = StepRing::open(options_of(folder));
    ASSERT_TRUE(ring) << ring.error().message;
    std::vector<std::string> errors;
    run_step(**ring, process, process, 1, errors);
    EXPECT_TRUE(errors.empty());
    EXPECT_EQ((*ring)->path(), folder / "rank_0/last_steps.ring");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "rank_0/.new-1-ring-0"));
  std::set<std::uint64_t> kept;
  for (const std::string& path : rings_in(folder / "rank_0")) kept.insert(read_ring_file(path)->steps.back().step);
  EXPECT_EQ(kept, (std::set<std::uint64_t>{3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

}  // namespace step_ring_test
}  // namespace tensorstat
