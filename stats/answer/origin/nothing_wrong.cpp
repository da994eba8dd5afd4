// The words of an answer without a fault.
#include <cstdint>
#include <string>
#include <string_view>

#include "stats/answer/origin/sentence.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {

void put_nothing_into_words(const RunFacts& facts, FaultVerdict& verdict, bool is_without_notes) {
  const auto plural = [](std::uint64_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
  };
  const std::string where =
      plural(facts.row_count, "tensor") +
      (facts.iteration_count > 1 ? " of " + plural(facts.iteration_count, "iteration") : "");  // files have none
  if (!facts.tells) {
    verdict.is_blind = true;
    verdict.sentence =
        "Not known: no row has a statistic that shows NaN or Inf, such as nan count, max or l2norm, in " + where;
  } else if (verdict.unseen.empty()) {
    verdict.sentence = "Nothing wrong" + std::string(is_without_notes ? ": neither NaN nor Inf" : "") + " in " + where;
  } else {
    verdict.sentence = "Not known: nothing of the model was read, " + verdict.unseen +
                       ". There is neither NaN nor Inf in what was read, " + where;
  }
  if (facts.form == Form::kWatch && !facts.has_loss)
    verdict.details = {"The loss is not in the rows: step(loss) of the watch tells it, too"};
  constexpr std::size_t kMostCalls = 5;
  for (std::size_t i = 0; i < verdict.not_seen.size() && i < kMostCalls; ++i)
    verdict.details.push_back("Not seen: " + printable_name(verdict.not_seen[i]));
  if (verdict.not_seen.size() > kMostCalls)
    verdict.details.push_back("Not seen: " + std::to_string(verdict.not_seen.size() - kMostCalls) + " more");
  for (const std::string& what : verdict.not_watched) {
    if (what != "loss" && what != "model")
      verdict.details.push_back("Not looked at: " + what + " were not watched; watch(..., " + what +
                                "=True) would tell");
  }
}

}  // namespace tensorstat
