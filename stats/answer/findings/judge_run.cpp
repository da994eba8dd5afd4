#include <new>

#include "stats/answer/findings/findings.hpp"
#include "stats/answer/origin/run_search.hpp"
#include "stats/core/base/fault_list.hpp"
#include "stats/core/base/float_environment.hpp"

namespace tensorstat {

Result<JudgedRun> judge_run(const std::string& path, const FindingLimits& limits, const MeterOptions& meter,
                            const ReadListener& listener) {
  for (const auto& [rule, limit] : limits) {
    if (facts(rule).limit == 0 || !(limit > 0)) {
      return Error{Code::kInvalid, "a limit of the rule " + std::string(name(rule)) +
                                       (facts(rule).limit == 0 ? ": it has none" : " is a number above 0")};
    }
  }
  FaultList faults;
  const ReadListener kept = {[&](std::string_view words) {
                               faults.add(std::string(words));
                               if (listener.failed) listener.failed(words);
                             },
                             [&](std::size_t done, std::size_t total, std::uint64_t bytes) {
                               if (listener.progressed) listener.progressed(done, total, bytes);
                             }};
  JudgedRun run;
  auto search = search_run(path, meter, kept, {},
                           [&](const Row& row, const Record::Place& place) { run.history.add(row, place); });
  if (!search) return search.error();
  run.history.finish();
  run.findings = find_in(run.history, search->answer, search->hints, limits);
  run.verdict = std::move(search->answer.verdict);
  run.verdict.zoom = nullptr;  // it is one of the hints
  run.findings.faults = std::move(faults).taken();
  return run;
}

Result<Findings> findings(const std::string& path, const FindingOptions& options) try {
  const FloatEnvironment ieee;
  auto run = judge_run(path, options.limits, options.meter, {});
  if (!run) return run.error();
  return std::move(run->findings);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
