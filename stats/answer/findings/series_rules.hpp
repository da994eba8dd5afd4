// The rules that look at one tensor on one rank, over its iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stats/answer/findings/history.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {

// Below this share of its own greatest size a tensor is the noise of a run that has converged.
inline constexpr double kShareOfGreatest = 0.1;

// A tensor's role in a training, as far as its names tell.
enum class TensorKind : std::uint8_t { kForward, kBackward, kGradient, kParameter, kUpdate, kBuffer, kLoss };
TensorKind kind_of(const History& history, const HistorySeries& series);

// The op names of optimizer states that are lists, such as the last directions of LBFGS. The tensors move from slot to
// slot, so the values of a slot are no series.
std::set<std::uint32_t> listed_states(const History& history);

// "parameter layers.6.weight", "gradient of layers.6.weight", "the loss"; of a call, its name.
std::string label_of(RowKind kind, std::string_view name);
// The same; of a call: "layers.6/forward output 0".
std::string label_of(const History& history, const HistorySeries& series);

// Where a rule was broken first.
struct Breach {
  std::size_t cell = 0;  // of the series
  double value = 0, limit = 0;
  std::size_t began = 0;  // of drift: the cell behind the last one of a usual size
  double usual = 0;       // of jump and drift: the median that the limit is a multiple of
};

// The answer of a rule about a series. `was_judged`: the series has the values that the rule needs.
struct SeriesJudgement {
  bool was_judged = false;
  std::optional<Breach> breach;
};

// Iterations from `begin` to before `end`.
struct IterationRange {
  std::uint64_t begin = 0, end = UINT64_MAX;
};

// Whether a gradient is rounding noise, as for a bias in front of a batch norm. `noise`: noise_of_steps().
bool is_noise(const History& history, const HistorySeries& series, const HistoryCell& cell,
              const std::vector<double>& noise);

// `limit` as in finding_rules.hpp. Only iterations of the range are looked at. `noise`: noise_of_steps().
SeriesJudgement judge_overflow(const History& history, const HistorySeries& series, double limit, IterationRange range);
SeriesJudgement judge_jump(const History& history, const HistorySeries& series, double limit, IterationRange range,
                           const std::vector<double>& noise);
SeriesJudgement judge_drift(const History& history, const HistorySeries& series, double limit, IterationRange range,
                            const std::vector<double>& noise);
SeriesJudgement judge_dead(const History& history, const HistorySeries& series, double limit, IterationRange range);
// `changes_until`: the last iteration in which at least three parameters of the rank have other values than before.
SeriesJudgement judge_frozen(const History& history, const HistorySeries& series, double limit, IterationRange range,
                             std::uint64_t changes_until);

// The greatest finite value of a float dtype that holds values as they are: float16, bfloat16, float32 and float64. 0
// for others: float8 and float4 are scaled so that they fill their range.
double end_of_range(std::string_view dtype);

}  // namespace tensorstat
