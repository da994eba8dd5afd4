// A row that append() has reported as written survives kill -9 at any time.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdlib>
#include <new>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "stats/data/rows/append_file.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace rows_survive_kill_test {

constexpr std::string_view kHeader = "who,row,padding\n";

// Rows of many lengths, so that writes cross page boundaries at every offset. The last field is a function of the row's
// length: a row that lost or gained bytes is detected.
std::string row_of(int writer, int row) {
  const auto length = static_cast<std::size_t>(17 + (writer * 31 + row * 7) % 263);
  return std::to_string(writer) + "," + std::to_string(row) + "," + std::string(length, 'x') + "\n";
}

std::shared_ptr<Notices> silent() { return std::make_shared<Notices>(nullptr); }

// All lines of the file after its heading. Fails for a line that is not a row or is there twice.
std::set<std::string> rows_in(const std::string& path, bool may_end_torn) {
  std::string text = content_of(path);
  std::set<std::string> rows;
  const auto whole = text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1;
  EXPECT_TRUE(may_end_torn || whole == text.size()) << text.substr(whole);
  text.resize(whole);
  if (text.empty()) return rows;
  EXPECT_TRUE(text.starts_with(kHeader));
  for (std::size_t start = kHeader.size(); start < text.size();) {
    const auto end = text.find('\n', start) + 1;
    const std::string row = text.substr(start, end - start);
    int writer = -1, number = -1;
    EXPECT_EQ(std::sscanf(row.c_str(), "%d,%d,", &writer, &number), 2) << row;
    EXPECT_EQ(row, row_of(writer, number));
    EXPECT_TRUE(rows.insert(row).second) << "twice: " << row;
    start = end;
  }
  return rows;
}

// Shared memory that survives the process: for each thread the number of rows reported as written.
struct Acknowledged {
  std::atomic<int> count[2];
};
Acknowledged* shared_counts() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (page) Acknowledged{};
}

TEST(RowsSurviveKill, AtAnyMoment) {
  const bool full = std::getenv("TENSORSTAT_FULL") != nullptr;
  const int kills = full ? 1000 : 60;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const ScratchFolder folder;
  const std::string path = folder / "deep/er/statistic.csv";
  Acknowledged* acknowledged = shared_counts();
  std::vector<std::array<int, 2>> promised;
  int torn = 0;
  for (int round = 0; round < kills; ++round) {
    for (auto& count : acknowledged->count) count = 0;
    const pid_t child = fork();
    if (child == 0) {
      AppendFile file({.path = path, .header = std::string(kHeader)}, silent());
      const auto append_for_ever = [&](int thread) {
        for (int row = 0;; ++row) {
          if (file.append(row_of(2 * round + thread, row)) == AppendFile::Outcome::kWritten) {
            ++acknowledged->count[thread];
          }
        }
      };
      std::thread other(append_for_ever, 1);
      append_for_ever(0);
    }
    // Every other child has written a row before it dies, however slow this machine is.
    while (round % 2 != 0 && acknowledged->count[0] == 0) usleep(100);
    usleep(500 + random() % 3000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    promised.push_back({acknowledged->count[0], acknowledged->count[1]});
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (file && file.tellg() > 0) {
      file.seekg(-1, std::ios::end);
      torn += file.get() != '\n';
    }
  }
  {
    AppendFile file({.path = path, .header = std::string(kHeader)}, silent());
    EXPECT_EQ(file.append(row_of(2 * kills, 0)), AppendFile::Outcome::kWritten);
  }
  const auto rows = rows_in(path, false);
  std::size_t count = 0;
  for (int round = 0; round < kills; ++round) {
    for (int thread = 0; thread < 2; ++thread) {
      for (int row = 0; row < promised[round][thread]; ++row) {
        EXPECT_TRUE(rows.count(row_of(2 * round + thread, row))) << round << " " << row;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 0u);
  std::cout << kills << " kills, " << count << " acknowledged rows, " << torn << " torn tails\n";
  munmap(acknowledged, 4096);
}

int calls_until_death = 0;
bool dies_halfway = false;

Verdict die_at_the_chosen_call(FileCall call) {
  if (--calls_until_death != 0) return {};
  if (call == FileCall::kWrite && dies_halfway) return {.most_bytes = 20, .die_after = true};
  return dies_halfway ? Verdict{.die_after = true} : Verdict{.die_before = true};
}

TEST(RowsSurviveKill, AtEveryFileCall) {
  Acknowledged* acknowledged = shared_counts();
  int calls = 0;
  for (const bool halfway : {false, true}) {
    bool finished = false;
    for (int chosen = 1; !finished; ++chosen, ++calls) {
      SCOPED_TRACE("death at file call " + std::to_string(chosen));
      const ScratchFolder folder;
      const std::string path = folder / "statistic.csv";
      std::ofstream(path) << kHeader << row_of(1, 0) << "1,1,xx";
      acknowledged->count[0] = 0;
      const pid_t child = fork();
      if (child == 0) {
        calls_until_death = chosen;
        dies_halfway = halfway;
        judge_file_call = die_at_the_chosen_call;
        AppendFile file({.path = path, .header = std::string(kHeader), .sync = Sync::kRow}, silent());
        for (int row = 0; row < 5; ++row) {
          if (file.append(row_of(2, row)) == AppendFile::Outcome::kWritten) {
            ++acknowledged->count[0];
          }
        }
        file.close();
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      finished = WIFEXITED(status);
      auto rows = rows_in(path, true);
      EXPECT_TRUE(rows.count(row_of(1, 0)));
      for (int row = 0; row < acknowledged->count[0]; ++row) {
        EXPECT_TRUE(rows.count(row_of(2, row))) << row;
      }
      AppendFile file({.path = path, .header = std::string(kHeader)}, silent());
      EXPECT_EQ(file.append(row_of(3, 0)), AppendFile::Outcome::kWritten);
      rows.insert(row_of(3, 0));
      EXPECT_EQ(rows_in(path, false), rows);
    }
  }
  EXPECT_GT(calls, 40);
  munmap(acknowledged, 4096);
}

}  // namespace rows_survive_kill_test
}  // namespace tensorstat
