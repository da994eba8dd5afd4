#include "stats/answer/origin/ranks.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "stats/answer/origin/rules.hpp"

namespace tensorstat::origin_rules {

Around around_of(const Record& record, const FaultChoice& choice, std::uint32_t first, std::uint32_t last) {
  Around around;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> before;  // by name and rank
  for (std::uint32_t run = first; run < last; ++run) {
    const auto rows = record.run(run);
    around.ranks.insert(rows.front().rank);
    if (!communicates(record.texts()[rows.front().op_type])) continue;
    const std::uint32_t nth = before[{rows.front().name, rows.front().rank}]++;
    const auto is_given_fault = [&](const Seen& row) { return row.is_input && fault_in(record, row, choice).any(); };
    if (std::ranges::any_of(rows, is_given_fault)) around.faulty_meetings.insert({rows.front().name, nth});
  }
  return around;
}

FaultVerdict pick_of_ranks(std::vector<FaultVerdict>& verdicts) {
  const auto place = [](const FaultVerdict& of) {
    const bool is_unsure = of.kind == FaultKind::kUnknown || of.is_own_code;
    return std::tuple(of.phase, is_unsure, of.rank);
  };
  const auto best = std::ranges::min_element(
      verdicts, [&](const FaultVerdict& a, const FaultVerdict& b) { return place(a) < place(b); });
  FaultVerdict verdict = std::move(*best);
  for (const FaultVerdict& each : verdicts) {
    if (each.rank != verdict.rank) verdict.other_ranks.push_back(each.rank);
  }
  return verdict;
}

std::optional<Fault> is_received(const Scene& scene, const StepRows& rows) {
  const Call& of = rows.call(scene.call);
  if (!communicates(rows.text(of.op_type)) || scene.given == Given::kFaulty) return std::nullopt;
  if (rows.around.faulty_meetings.contains({of.name, of.nth})) {
    Fault fault = fault_at(scene, rows, FaultKind::kUnknown, scene.call);
    fault.is_received = true;
    return fault;
  }
  if (rows.around.ranks.size() > 1) return std::nullopt;
  Fault fault = unknown(scene, rows, scene.call, "it exchanges data with ranks whose rows are not here");
  fault.may_be_received = true;
  return fault;
}

}  // namespace tensorstat::origin_rules
