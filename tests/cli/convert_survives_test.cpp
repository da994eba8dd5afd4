// `tensorstat convert` that is killed at any time leaves the complete output or none, and its memory does not grow with
// the file.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>

#include "tests/support/built.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/converted_rows.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat::test {
namespace convert_survives_test {

// A process that is killed at any time leaves the complete output or none.
TEST(ConvertSurvives, AKillLeavesAWholeOutputOrNone) {
  const bool full = std::getenv("TENSORSTAT_FULL") != nullptr;
  const int kills = full ? 1000 : 30;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const ScratchFolder folder;
  std::vector<Row> rows;
  for (int run = 0; run < 300; ++run) {
    for (Row row : rows_of_a_run({Category::kMax})) {
      row.identity.timestamp_us += static_cast<std::uint64_t>(run);
      rows.push_back(row);
    }
  }
  std::ofstream(folder / "rows.csv") << written({Dialect::kOurs, {Category::kMax}, {}}, rows);
  const std::string source = folder / "rows.csv", out = folder / "out";
  int whole = 0, none = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to", "cann",
            nullptr);
      _exit(1);
    }
    usleep(random() % 150'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!fs::exists(out)) {
      ++none;
      continue;
    }
    ++whole;
    EXPECT_EQ(files_below(out).size(), 300u);
    for (const std::string& file : files_below(out)) EXPECT_EQ(read(file, Dialect::kCann).size(), 2u);
    fs::remove_all(out);
  }
  const auto is_left_behind = [](const fs::directory_entry& each) {
    return each.path().filename().string().starts_with(".new-");
  };
  const auto left_behind = [&] {
    return std::count_if(fs::directory_iterator(folder.path()), fs::directory_iterator(), is_left_behind);
  };
  EXPECT_EQ(run(folder, "convert '" + source + "' -o '" + out + "' --to cann").exit, 0);
  EXPECT_EQ(left_behind(), 0) << "the next run to the same place cleans up";
  fs::remove_all(out);
  // After other signals nothing is left.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) {
    for (int i = 0; i < kills / 6; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        std::signal(signal, SIG_DFL);
        execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to", "cann",
              nullptr);
        _exit(1);
      }
      for (int wait = 0; wait < 1000 && left_behind() == 0 && !fs::exists(out); ++wait) usleep(100);
      usleep(500 + random() % 20'000);
      kill(child, signal);
      waitpid(child, nullptr, 0);
      EXPECT_EQ(left_behind(), 0) << strsignal(signal);
      fs::remove_all(out);
    }
  }
  std::cout << kills << " kills, " << whole << " whole outputs, " << none << " times none\n";
  EXPECT_GT(whole + none, 0);
}

// The peak memory in KiB while converting a file with this many thousand rows.
long most_memory(const ScratchFolder& folder, int thousands) {
  std::vector<Row> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(rows_of_a_run({Category::kMax, Category::kAvg})[0]);
  const RowFormat format{Dialect::kOurs, {Category::kMax, Category::kAvg}, {}};
  const std::string text = written(format, rows), heading = written(format, {});
  const std::string number = std::to_string(thousands);
  const std::string source = folder / ("rows" + number + ".csv"), out = folder / ("out" + number + ".csv");
  const std::string errors = folder / ("errors" + number);
  std::ofstream file(source);
  file << text;
  for (int i = 1; i < thousands; ++i) file << text.substr(heading.size());
  file.close();
  const pid_t child = fork();
  if (child == 0) {
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr) _exit(1);
    execl(built::command().c_str(), "tensorstat", "convert", source.c_str(), "-o", out.c_str(), "--to",
          "mindspore-next", nullptr);
    _exit(1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << content_of(errors);
  EXPECT_TRUE(holds(content_of(errors), number + "000 rows of 1 file converted")) << content_of(errors);
  return usage.ru_maxrss;
}

TEST(ConvertSurvives, MemoryDoesNotGrowWithTheFile) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps memory that was freed";
  const ScratchFolder folder;
  const long little = most_memory(folder, 30), much = most_memory(folder, 120);
  std::cout << little << " KiB for 30,000 rows, " << much << " KiB for 120,000\n";
  EXPECT_LT(much, little + 3'000);
}

}  // namespace convert_survives_test
}  // namespace tensorstat::test
