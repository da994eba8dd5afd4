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
    const auto is_given_fault = [&](const RecordRow& row) {
      return row.is_input && fault_in(record, row, choice).any();
    };
    if (std::ranges::any_of(rows, is_given_fault)) around.faulty_meetings.insert({rows.front().name, nth});
  }
  return around;
}

OfRank of_rank(const Record& record, const Walked& walked, FaultVerdict verdict) {
  const Fault& fault = *walked.verdict;
  OfRank rank;
  rank.verdict = std::move(verdict);
  rank.nth_event = fault.nth_event;
  rank.name = record.rows()[fault.row].name;
  for (const Call& call : walked.model.calls) rank.called.insert(call.name);
  return rank;
}

FaultVerdict pick_of_ranks(std::vector<OfRank>& ranks) {
  const bool is_same_program = std::ranges::all_of(ranks, [&](const OfRank& each) {
    return std::ranges::all_of(ranks, [&](const OfRank& other) { return other.called.contains(each.name); });
  });
  const auto place = [&](const OfRank& rank) {
    const FaultVerdict& verdict = rank.verdict;
    // A stage of a pipeline is given what another rank made.
    const bool may_be_received = !is_same_program && verdict.phase == Phase::kInput;
    const bool is_unsure = verdict.kind == FaultKind::kUnknown || verdict.is_own_code || may_be_received;
    // A call with a collective inside gives the fault on all ranks; one of them may know its operation.
    return std::tuple(may_be_received ? Phase::kForward : verdict.phase, is_same_program ? rank.nth_event : 0,
                      is_unsure, verdict.operation.empty(), verdict.rank);
  };
  const auto best =
      std::ranges::min_element(ranks, [&](const OfRank& a, const OfRank& b) { return place(a) < place(b); });
  FaultVerdict verdict = std::move(best->verdict);
  for (const OfRank& each : ranks) {
    if (each.verdict.rank != verdict.rank) verdict.other_ranks.push_back(each.verdict.rank);
  }
  return verdict;
}

std::optional<Fault> is_received(const Scene& scene, const StepRows& rows) {
  const Call& call = rows.call(scene.call);
  if (!communicates(rows.text(call.op_type)) || scene.given == InputState::kFaulty) return std::nullopt;
  if (rows.around.faulty_meetings.contains({call.name, call.nth})) {
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
