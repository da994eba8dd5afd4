// Comparisons and findings of <tensorstat/tensorstat.h>.
#include <tensorstat/tensorstat.h>

#include <tensorstat/compare.hpp>
#include <utility>

#include "stats/bindings/c/support.hpp"
#include "stats/show/page/run_report.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_answer {
  bool has_findings;
  std::string json;
  std::vector<std::string> faults;
  std::optional<std::string> page = {};
};

tensorstat_code tensorstat_diff(const char* a, const char* b, const tensorstat_diff_options* options,
                                tensorstat_answer** answer) {
  return guarded([&]() -> tensorstat_code {
    if (a == nullptr || b == nullptr || answer == nullptr) {
      return missing(a == nullptr ? "the path of A" : b == nullptr ? "the path of B" : "the pointer for the answer");
    }
    const auto given = c::taken<tensorstat_diff_options>(options, TENSORSTAT_DIFF_OPTIONS);
    if (!given) return missing("tensorstat_diff_options");
    auto comparison = diff(a, b,
                           {.rtol = given->rtol < 0 ? std::nullopt : std::optional(given->rtol),
                            .atol = given->atol,
                            .any_dtype = given->any_dtype != 0,
                            .tolerances = given->tolerances == nullptr ? "" : given->tolerances,
                            .names = given->names == nullptr ? "" : given->names,
                            .first = given->first != 0});
    if (!comparison) return failed(comparison.error());
    *answer = new tensorstat_answer{comparison->differs, std::move(comparison->json), std::move(comparison->faults)};
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_origin(const char* path, int nan_only, tensorstat_answer** answer) {
  return guarded([&]() -> tensorstat_code {
    if (path == nullptr || answer == nullptr)
      return missing(path == nullptr ? "the path" : "the pointer for the answer");
    auto verdict = origin(path, {.nan_only = nan_only != 0 && nan_only != 2, .inf = nan_only == 2});
    if (!verdict) return failed(verdict.error());
    *answer = new tensorstat_answer{!verdict->is_clean, std::move(verdict->json), std::move(verdict->faults)};
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_findings(const char* path, const tensorstat_findings_options* options,
                                    tensorstat_answer** answer) {
  return guarded([&]() -> tensorstat_code {
    if (path == nullptr || answer == nullptr)
      return missing(path == nullptr ? "the path" : "the pointer for the answer");
    const tensorstat_findings_options defaults = TENSORSTAT_FINDINGS_OPTIONS;
    const auto given =
        c::taken<tensorstat_findings_options>(options == nullptr ? &defaults : options, TENSORSTAT_FINDINGS_OPTIONS);
    if (!given) return missing("tensorstat_findings_options");
    const auto limits = finding_limits_from(given->limits == nullptr ? "" : given->limits);
    if (!limits) return failed(limits.error());
    auto run = judge_run(path, *limits, {}, {});
    if (!run) return failed(run.error());
    std::optional<std::string> page;
    if (given->page != 0) {
      auto written = page_of(*run, path);
      if (!written) return failed(written.error());
      page = *std::move(written);
    }
    *answer = new tensorstat_answer{!run->findings.is_clean(), json_of(run->findings), std::move(run->findings.faults),
                                    std::move(page)};
    return TENSORSTAT_OK;
  });
}

int tensorstat_answer_found(const tensorstat_answer* answer) {
  return answer != nullptr && answer->has_findings ? 1 : 0;
}

const char* tensorstat_answer_json(const tensorstat_answer* answer) {
  return answer == nullptr ? nullptr : answer->json.c_str();
}

const char* tensorstat_answer_page(const tensorstat_answer* answer) {
  return answer == nullptr || !answer->page ? nullptr : answer->page->c_str();
}

const char* tensorstat_answer_fault(const tensorstat_answer* answer, size_t index) {
  return answer == nullptr || index >= answer->faults.size() ? nullptr : answer->faults[index].c_str();
}

void tensorstat_answer_free(tensorstat_answer* answer) { delete answer; }
