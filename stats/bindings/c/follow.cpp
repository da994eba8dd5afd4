// Following a dump that is being written, of <tensorstat/tensorstat.h>.
#include <tensorstat/tensorstat.h>

#include <tensorstat/findings.hpp>

#include "stats/answer/findings/live_run.hpp"
#include "stats/bindings/c/row_of_c.hpp"
#include "stats/bindings/c/support.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;
using c::RowOfC;

struct tensorstat_follower {
  LiveRun run;
  bool wants_findings;
  std::string findings;
  std::vector<std::string> faults;
};

tensorstat_code tensorstat_follow(const char* path, const tensorstat_findings_options* options, int findings,
                                  tensorstat_follower** follower) {
  return guarded([&]() -> tensorstat_code {
    if (path == nullptr || follower == nullptr)
      return missing(path == nullptr ? "the path" : "the pointer for the follower");
    const tensorstat_findings_options defaults = TENSORSTAT_FINDINGS_OPTIONS;
    const auto given =
        c::taken<tensorstat_findings_options>(options == nullptr ? &defaults : options, TENSORSTAT_FINDINGS_OPTIONS);
    if (!given) return missing("tensorstat_findings_options");
    auto limits = finding_limits_from(given->limits == nullptr ? "" : given->limits);
    if (!limits) return failed(limits.error());
    *follower = new tensorstat_follower{LiveRun(path, *std::move(limits)), findings != 0, {}, {}};
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_follower_look(tensorstat_follower* follower, tensorstat_each_row each, void* context,
                                         uint64_t* row_count, const char** findings) {
  return guarded([&]() -> tensorstat_code {
    if (follower == nullptr) return missing("the follower");
    if (findings != nullptr) *findings = nullptr;
    RowOfC row;
    bool is_enough = each == nullptr;
    LiveRun& run = follower->run;
    const LiveRun::News news = run.look([&](const Row& next, const std::string& path, const HistoryPlace& place) {
      if (is_enough) return Status();
      Row copy = next;
      add_place(path, DumpPlace{.rank = place.rank, .graph = place.graph, .iteration = place.iteration}, copy.identity);
      is_enough = each(context, &row.of(copy)) != 0;
      return Status();
    });
    if (row_count != nullptr) *row_count = news.rows;
    follower->faults = news.faults;
    if (!follower->wants_findings) return TENSORSTAT_OK;
    const bool was_pending = run.has_unsettled();
    const bool is_judged_now = run.is_due();
    if (is_judged_now) run.judge();
    if (findings == nullptr || (!is_judged_now && !was_pending)) return TENSORSTAT_OK;
    follower->findings = json_of(run.settled_findings());
    *findings = follower->findings.c_str();
    return TENSORSTAT_OK;
  });
}

const char* tensorstat_follower_fault(const tensorstat_follower* follower, size_t index) {
  return follower == nullptr || index >= follower->faults.size() ? nullptr : follower->faults[index].c_str();
}

uint32_t tensorstat_follower_pause(const tensorstat_follower* follower) {
  return follower == nullptr ? 0 : static_cast<uint32_t>(follower->run.pause().count());
}

void tensorstat_follower_free(tensorstat_follower* follower) { delete follower; }
