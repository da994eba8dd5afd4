#include "bench/peers/peer.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace tensorstat::bench {
namespace {

double number(const StatisticsView& statistics, Category category) {
  const Value* statistic = statistics.find(category);
  if (const auto* real = std::get_if<double>(statistic)) return *real;
  if (const auto* natural = std::get_if<std::uint64_t>(statistic)) return static_cast<double>(*natural);
  return static_cast<double>(std::get<std::int64_t>(*statistic));
}

double ulps(double computed, double exact) {
  const double up = std::nextafter(std::fabs(exact), std::numeric_limits<double>::infinity());
  return std::fabs(computed - exact) / (up - std::fabs(exact));
}

}  // namespace

Counters judge(const Tensor& tensor, const Findings& findings) {
  const auto measured =
      value(meter(kLanes[0]).measure({&tensor, 1}, {.categories = value(categories_from(kTen)), .on = On::kHost}));
  const StatisticsView exact = measured[0].statistics;
  struct {
    double theirs, ours;
    int statistics = 1;
  } const same[] = {{findings.max, number(exact, Category::kMax)},
                    {findings.min, number(exact, Category::kMin)},
                    {findings.negatives, number(exact, Category::kNegativeZeroCount)},
                    {findings.positives, number(exact, Category::kPositiveZeroCount)},
                    {findings.zeros, number(exact, Category::kZeroCount)},
                    {findings.nans, number(exact, Category::kNanCount)},
                    {findings.infinities,
                     number(exact, Category::kPositiveInfCount) + number(exact, Category::kNegativeInfCount), 2}};
  Counters counters;
  double& computed = counters["statistics"];
  for (const auto& each : same) {
    if (std::isnan(each.theirs)) continue;
    computed += each.statistics;
    if (each.theirs != each.ours) {
      throw std::runtime_error("found " + std::to_string(each.theirs) + " where " + std::to_string(each.ours) +
                               " is right");
    }
  }
  const auto rounded = [&](const char* name, double theirs, Category category) {
    if (std::isnan(theirs)) return;
    computed += 1;
    counters[name] = ulps(theirs, number(exact, category));
  };
  rounded("avg_ulp", findings.avg, Category::kAvg);
  rounded("l2norm_ulp", findings.l2norm, Category::kL2norm);
  return counters;
}

Contestant peer(const Tensor& tensor, std::function<Findings()> call) {
  const auto findings = std::make_shared<Findings>();
  return {[findings, call = std::move(call)] { *findings = call(); }, {}, [=] { return judge(tensor, *findings); }};
}

void enter_peers() {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBfloat16, Dtype::kInt8}) {
    for (const std::uint64_t kib : {4, 1 << 10, 64 << 10, 256 << 10}) {
      const std::uint64_t bytes = kib << 10;
      const std::string group = "peers/" + std::string(name(dtype)) + "/" + bytes_name(bytes);
      const auto size = static_cast<double>(bytes);
      enter_limits(group, size, 1, [=] { return bytes_of(make(dtype, bytes)); });
      for (const Lane& lane : kLanes) {
        enter_measure(
            group, lane, size, 1, [=] { return std::vector{make(dtype, bytes)}; }, value(categories_from(kTen)));
      }
      enter_mindspore(group, dtype, bytes);
      enter_numpy(group, dtype, bytes);
      enter_eigen(group, dtype, bytes);
      enter_opencv(group, dtype, bytes);
      enter_clblast(group, dtype, bytes);
    }
  }
}

}  // namespace tensorstat::bench
