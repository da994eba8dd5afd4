#include "stats/show/page/lane_differences.hpp"

#include <algorithm>
#include <cmath>
#include <tensorstat/catalog.hpp>

namespace tensorstat {
namespace {

bool has_both(const PageContents::Plane& plane, std::size_t a, std::size_t b) {
  return plane.has[a] != 0 && plane.has[b] != 0;
}

bool differs_in(const PageContents::Plane& plane, std::size_t a, std::size_t b) {
  const double x = plane.values[a], y = plane.values[b];
  return has_both(plane, a, b) && !(x == y && std::signbit(x) == std::signbit(y)) && !(std::isnan(x) && std::isnan(y));
}

}  // namespace

// The lane that a lane is held against.
std::optional<std::size_t> LaneDifferences::reference_of(std::size_t lane) const {
  const PageContents::Lane& each = contents_.lanes[lane];
  if (each.run != 0) return contents_.lane_of(0, each.rank);
  return lane == 0 || run_count_ > 1 ? std::nullopt : std::optional<std::size_t>(0);
}

// nullopt: nothing that both have can be compared.
std::optional<bool> LaneDifferences::differs(std::size_t a, std::size_t b) const {
  std::optional<bool> answer = digests_.empty() ? std::nullopt : History::same_digest(digests_[a], digests_[b]);
  if (answer) answer = !*answer;
  for (const PageContents::Plane& plane : contents_.planes) {
    if (has_both(plane, a, b)) answer = answer.value_or(false) || differs_in(plane, a, b);
  }
  return answer;
}

void LaneDifferences::mark() const {
  for (std::size_t lane = 0; lane < contents_.lanes.size(); ++lane) {
    const auto against = reference_of(lane);
    for (std::size_t tensor = 0; against && tensor < contents_.tensors.size(); ++tensor) {
      for (std::size_t column = 0; column < contents_.iterations.size(); ++column) {
        const std::size_t cell = contents_.cell(tensor, lane, column), other = contents_.cell(tensor, *against, column);
        std::uint8_t& fault = contents_.faults[cell];
        if ((fault & contents_.faults[other] & PageContents::kHasRow) == 0) continue;
        const std::optional<bool> answer = differs(cell, other);
        if (answer) fault |= PageContents::kCompared;
        if (answer.value_or(false)) fault |= PageContents::kDiffers;
      }
    }
  }
}

// What was compared of two cells. A large run has less in them.
std::string LaneDifferences::compared() const {
  const std::string& first = contents_.planes.front().name;
  if (contents_.pooled > 1) return "the worst " + first + " of each column. Nothing else was compared";
  if (lacks_statistics_) return "every " + first + ". No other statistic was compared";
  return "every bit of what both have";
}

// "max 1 in A, 2 in B": the first statistic that differs.
std::string LaneDifferences::told_difference(std::size_t a, std::size_t b) const {
  for (const PageContents::Plane& plane : contents_.planes) {
    if (!differs_in(plane, a, b)) continue;
    return plane.name + " " + to_string(Value(plane.values[a])) + " in A, " + to_string(Value(plane.values[b])) +
           " in B";
  }
  return "only the digest";
}

// By the first statistic that both have: an avg around 0 changes sign and is no other tensor.
bool LaneDifferences::differs_by_much(std::size_t a, std::size_t b) const {
  constexpr double kMuch = 0.01;
  for (const PageContents::Plane& plane : contents_.planes) {
    if (!has_both(plane, a, b)) continue;
    const double x = plane.values[a], y = plane.values[b];
    if (!std::isfinite(x) || !std::isfinite(y)) return differs_in(plane, a, b);
    return std::fabs(x - y) > kMuch * std::max(std::fabs(x), std::fabs(y));
  }
  return false;
}

void LaneDifferences::tell() const {
  std::string in_a_bit, by_much;
  for (std::size_t column = 0; column < contents_.iterations.size() && by_much.empty(); ++column) {
    for (std::size_t tensor = 0; tensor < contents_.tensors.size() && by_much.empty(); ++tensor) {
      for (std::size_t lane = 0; lane < contents_.lanes.size(); ++lane) {
        const auto against = contents_.lanes[lane].run == 0 ? std::nullopt : reference_of(lane);
        if (!against) continue;
        const std::size_t cell = contents_.cell(tensor, lane, column), other = contents_.cell(tensor, *against, column);
        if ((contents_.faults[cell] & PageContents::kDiffers) == 0) continue;
        const std::string where = "iteration " + std::to_string(contents_.iterations[column]) + ", rank " +
                                  std::to_string(contents_.lanes[lane].rank) + ", in " +
                                  contents_.tensors[tensor].name + " " + contents_.tensors[tensor].io + ": " +
                                  told_difference(other, cell);
        if (in_a_bit.empty()) {
          in_a_bit = where;
          contents_.words.parting = cell;
        }
        if (differs_by_much(other, cell)) {
          by_much = where;
          contents_.words.parting = cell;
          break;
        }
      }
    }
  }
  std::vector<std::string>& verdict = contents_.words.verdict;
  const auto beginning = verdict.begin();
  const bool has_compared =
      std::ranges::any_of(contents_.faults, [](std::uint8_t fault) { return (fault & PageContents::kCompared) != 0; });
  if (!has_compared) {
    verdict.insert(beginning, "A and B have nothing in common that could be compared");
  } else if (in_a_bit.empty()) {
    verdict.insert(beginning, "A and B agree in " + compared());
  } else if (by_much.empty()) {
    verdict.insert(beginning, {"A and B agree within 1 % in " + contents_.planes.front().name,
                               "They differ first at " + in_a_bit});
  } else {
    const auto part = verdict.insert(beginning, "A and B part at " + by_much);
    if (in_a_bit != by_much) verdict.insert(part + 1, "They differ in a bit first at " + in_a_bit);
  }
}

}  // namespace tensorstat
