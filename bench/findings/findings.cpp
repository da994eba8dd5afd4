// How fast a run is judged, and in how much memory.
//   findings_bench [TENSORS [ITERATIONS [RANKS]]]    rows made in memory: a history of them, and the rules
//   findings_bench DUMP                              a run on disk: read and judged
#include "stats/answer/findings/findings.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tensorstat;

// On a machine that others use, too, the processor's time says more than the clock's.
struct Seconds {
  double wall = 0, processor = 0;
};

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Seconds seconds_of(const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  run();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          processor_seconds() - before};
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print(const char* what, std::uint64_t rows, Seconds seconds) {
  std::printf("%-20s %7.2f s, processor %7.2f s: %6.2f M rows/s; peak %7.1f MiB\n", what, seconds.wall,
              seconds.processor, static_cast<double>(rows) / seconds.processor / 1e6, peak_mib());
}

int judge_dump(const std::string& path) {
  Result<JudgedRun> run = Error{};
  const Seconds seconds = seconds_of([&] { run = judge_run(path, {}, {}, {}); });
  if (!run) return std::fprintf(stderr, "%s\n", run.error().message.c_str()), 1;
  print("read and judged", run->history.row_count(), seconds);
  std::printf("%s\n", run->findings.verdict.front().c_str());
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::atoi(arguments[1]) == 0) return judge_dump(arguments[1]);
  const int tensors = count > 1 ? std::atoi(arguments[1]) : 2000;
  const int iterations = count > 2 ? std::atoi(arguments[2]) : 1000;
  const int ranks = count > 3 ? std::atoi(arguments[3]) : 5;
  const Categories categories = {Category::kMax,
                                 Category::kMin,
                                 Category::kAvg,
                                 Category::kL2norm,
                                 Category::kNanCount,
                                 Category::kPositiveInfCount,
                                 Category::kNegativeInfCount};
  constexpr const char* kTypes[] = {"Linear", "Linear", "Gradient", "Parameter"};
  std::vector<std::string> names;
  for (int tensor = 0; tensor < tensors; ++tensor) {
    names.push_back("model.layers." + std::to_string(tensor / 8) + "/op" + std::to_string(tensor % 8));
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> noise(1, 1.2);
  History history;
  const Seconds filled = seconds_of([&] {
    std::vector<Value> values(categories.size(), std::uint64_t{0});
    for (int iteration = 0; iteration < iterations; ++iteration) {
      for (int rank = 0; rank < ranks; ++rank) {
        for (int tensor = 0; tensor < tensors; ++tensor) {
          const double size = noise(random);
          values[0] = size;
          values[1] = -size;
          values[2] = size / 300;
          values[3] = size * 77;
          history.add(
              {.op_type = kTypes[tensor % 4],
               .op_name = names[static_cast<std::size_t>(tensor)],
               .dtype = "float32",
               .shape = "(256,256)",
               .place = {.rank = static_cast<std::uint32_t>(rank), .iteration = static_cast<std::uint64_t>(iteration)},
               .timestamp_us = static_cast<std::uint64_t>(iteration * tensors + tensor),
               .count = 65536,
               .statistics = StatisticsView{categories, values}});
        }
      }
    }
    history.finish();
  });
  print("history of rows", history.row_count(), filled);
  std::printf("%-20s %7.1f bytes\n", "a row in the history",
              static_cast<double>(history.bytes()) / static_cast<double>(history.row_count()));
  Findings findings;
  const Seconds judged = seconds_of([&] { findings = find_in(history, {}, {}); });
  print("judged", history.row_count(), judged);
  std::printf("%s\n", findings.verdict.front().c_str());
}
