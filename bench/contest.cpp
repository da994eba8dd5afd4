#include "bench/contest.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "bench/limit_host.hpp"
#include "bench/limit_opencl.hpp"

namespace tensorstat::bench {
namespace {

// Adds counters beside the time: bytes, tensors, and the contestant's own.
void note(benchmark::State& state, double bytes, double tensors, const std::function<Counters()>& counters) {
  state.counters["bytes"] = bytes;
  state.counters["tensors"] = tensors;
  if (!counters) return;
  for (const auto& [name, value] : counters()) state.counters[name] = value;
}

// Makes the contestant at the first call, and keeps it.
template <typename T>
class Once {
 public:
  explicit Once(std::function<T()> prepare) : prepare_(std::move(prepare)) {}
  bool ready() const { return made_.has_value(); }
  T& get() {
    if (!made_) made_ = prepare_();
    return *made_;
  }

 private:
  std::function<T()> prepare_;
  std::optional<T> made_;
};

}  // namespace

void enter(const std::string& group, const std::string& name, double bytes, double tensors,
           std::function<Contestant()> prepare) {
  const auto once = std::make_shared<Once<Contestant>>(std::move(prepare));
  const auto run = [=](benchmark::State& state) {
    try {
      const bool warm = once->ready();
      Contestant& contestant = once->get();
      if (!warm) contestant.work();
      for (auto _ : state) contestant.work();
      state.SetLabel(contestant.label);
      note(state, bytes, tensors, contestant.counters);
    } catch (const std::exception& failed) {
      state.SkipWithError(failed.what());
    }
  };
  benchmark::RegisterBenchmark((group + "/" + name).c_str(), run)->UseRealTime();
}

void enter_clocked(const std::string& group, const std::string& name, double bytes, double tensors,
                   std::function<Clocked()> prepare) {
  const auto once = std::make_shared<Once<Clocked>>(std::move(prepare));
  const auto run = [=](benchmark::State& state) {
    try {
      Clocked& contestant = once->get();
      for (auto _ : state) state.SetIterationTime(contestant.seconds());
      note(state, bytes, tensors, contestant.counters);
    } catch (const std::exception& failed) {
      state.SkipWithError(failed.what());
    }
  };
  benchmark::RegisterBenchmark((group + "/" + name).c_str(), run)->UseManualTime();
}

Meter& meter(const Lane& lane) {
  static std::map<std::string, std::unique_ptr<Meter>> meters;
  auto& entry = meters[lane.name];
  if (!entry) {
    MeterOptions options;
    options.threads = lane.threads;
    entry = std::make_unique<Meter>(std::move(options));
  }
  return *entry;
}

void enter_limits(const std::string& group, double bytes, double tensors,
                  std::function<std::span<const std::byte>()> data) {
  for (const Lane& lane : kLanes) {
    enter(group, std::string("limit:") + lane.name, bytes, tensors, [lane, data] {
      const unsigned threads = lane.threads == 0 ? std::max(1U, std::thread::hardware_concurrency()) : lane.threads;
      Limit limit = lane.on == On::kDevice ? fastest_opencl_read(data()) : fastest_host_read(data(), threads);
      return Contestant{std::move(limit.read), std::move(limit.way), nullptr};
    });
  }
}

void enter_measure(const std::string& group, const Lane& lane, double bytes, double tensors,
                   std::function<std::vector<Tensor>()> data, const Categories& categories, const std::string& suffix) {
  enter(group, std::string("tensorstat:") + lane.name + suffix, bytes, tensors, [=] {
    const auto measure = [tensors = data(), request = Request{.categories = categories, .on = lane.on},
                          &meter = bench::meter(lane)] {
      benchmark::DoNotOptimize(value(meter.measure(tensors, request)));
    };
    return Contestant{measure};
  });
}

std::string bytes_name(std::uint64_t bytes) {
  constexpr std::pair<std::uint64_t, const char*> kUnits[] = {
      {std::uint64_t{1} << 30, "GiB"}, {std::uint64_t{1} << 20, "MiB"}, {1024, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes >= unit) return std::to_string(bytes / unit) + name;
  }
  return std::to_string(bytes) + "B";
}

}  // namespace tensorstat::bench
