// How a figure is entered: a group is one piece of work on the same bytes; its contestants are the
// limit, the engines and the peers. Google Benchmark runs the rounds of a group's contestants in
// random order, and table.py sets them side by side, round by round.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <utility>
#include <vector>

namespace tensorstat::bench {

// Every statistic of one pass; MindSpore's names. `count` comes with any of them.
inline constexpr const char* kTen =
    "max,min,avg,l2norm,negative zero count,positive zero count,zero count,nan count,negative inf "
    "count,"
    "positive inf count";

using Work = std::function<void()>;
using Counters = std::map<std::string, double>;

struct Contestant {
  Work work;                                     // one timed call
  std::string label = {};                        // what there is to say of it
  std::function<Counters()> counters = nullptr;  // asked once the rounds are done
};

// Enters a contestant under "group/who". `prepare` is called at most once, untimed, and only if it
// is to run; the work is called once before it is timed. `bytes` and `tensors` are what one call
// goes through. An exception becomes the benchmark's error.
void enter(const std::string& group, const std::string& who, double bytes, double tensors,
           std::function<Contestant()> prepare);

// The same where another process holds the clock: one call returns the seconds that it took.
struct Clocked {
  std::function<double()> seconds;
  std::function<Counters()> counters = nullptr;
};
void enter_clocked(const std::string& group, const std::string& who, double bytes, double tensors,
                   std::function<Clocked()> prepare);

// The three that every group of ours has: the host with one thread, with all, and the OpenCL
// device.
struct Lane {
  const char* name;  // "1", "all", "cl"
  unsigned threads;  // of the host; 0: one a core
  On on;
};
inline constexpr Lane kLanes[] = {
    {"1", 1, On::kHost}, {"all", 0, On::kHost}, {"cl", 0, On::kDevice}};

// The meter of a lane: one for the process.
Meter& meter(const Lane& lane);

// Enters "limit:<lane>" for each lane: reading `bytes()` and nothing else.
void enter_limits(const std::string& group, double bytes, double tensors,
                  std::function<std::span<const std::byte>()> data);

// Enters "tensorstat:<lane>" for one lane: measuring the tensors.
void enter_measure(const std::string& group, const Lane& lane, double bytes, double tensors,
                   std::function<std::vector<Tensor>()> data, const Categories& categories,
                   const std::string& suffix = "");

// What `result` holds, or its error thrown: for preparations.
template <typename T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

std::string bytes_name(std::uint64_t bytes);  // "64KiB"

// Each enters the groups of one subject.
void enter_passes();
void enter_peers();
void enter_pairs();
void enter_batches();
void enter_streams();
void enter_exactness();
void enter_worst_cases();
void enter_beside();
void enter_rows();
void enter_training();
void enter_start_up(const std::string& first_result_program);

}  // namespace tensorstat::bench
