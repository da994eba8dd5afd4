// How figures are entered. A group is one piece of work on the same bytes. Its contestants are the limit, the engines
// and the peers. Google Benchmark runs the rounds of a group's contestants in random order. table.py compares them
// round by round.
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

// The statistics of one pass, in MindSpore's names. `count` is added to any of them.
inline constexpr const char* kTen =
    "max,min,avg,l2norm,negative zero count,positive zero count,zero count,nan count,negative inf "
    "count,"
    "positive inf count";

using Work = std::function<void()>;
using Counters = std::map<std::string, double>;

struct Contestant {
  Work work;                                     // one timed call
  std::string label = {};                        // shown with the figure
  std::function<Counters()> counters = nullptr;  // called once after the rounds
};

// Enters a contestant as "group/name". `prepare` is called at most once, untimed, and only if the contestant runs. The
// work is called once before the timed calls. One call processes `bytes` and `tensors`. An exception becomes the
// benchmark's error.
void enter(const std::string& group, const std::string& name, double bytes, double tensors,
           std::function<Contestant()> prepare);

// The same for another process that measures the time: a call returns the seconds it took.
struct Clocked {
  std::function<double()> seconds;
  std::function<Counters()> counters = nullptr;
};
void enter_clocked(const std::string& group, const std::string& name, double bytes, double tensors,
                   std::function<Clocked()> prepare);

// Every group of tensorstat has these three lanes: the host with one thread, the host with all threads, and the OpenCL
// device.
struct Lane {
  const char* name;  // "1", "all", "cl"
  unsigned threads;  // of the host; 0: one per core
  On on;
};
inline constexpr Lane kLanes[] = {{"1", 1, On::kHost}, {"all", 0, On::kHost}, {"cl", 0, On::kDevice}};

// The lane's meter, made once per process.
Meter& meter(const Lane& lane);

// Enters "limit:<lane>" for each lane: only reads `bytes()`.
void enter_limits(const std::string& group, double bytes, double tensors,
                  std::function<std::span<const std::byte>()> data);

// Enters "tensorstat:<lane>" for one lane: measures the tensors.
void enter_measure(const std::string& group, const Lane& lane, double bytes, double tensors,
                   std::function<std::vector<Tensor>()> data, const Categories& categories,
                   const std::string& suffix = "");

// Returns the value of `result` or throws its error. For preparations.
template <typename T>
T value(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return *std::move(result);
}

std::string bytes_name(std::uint64_t bytes);  // "64KiB"

// Each function enters the groups of one subject.
void enter_passes();
void enter_peers();
void enter_pairs();
void enter_batches();
void enter_callers();
void enter_streams();
void enter_exactness();
void enter_worst_cases();
void enter_beside();
void enter_rows();
void enter_training();
void enter_start_up(const std::string& first_result_program);

}  // namespace tensorstat::bench
