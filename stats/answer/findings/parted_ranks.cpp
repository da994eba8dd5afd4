#include "stats/answer/findings/parted_ranks.hpp"

#include <cstdint>
#include <utility>

namespace tensorstat {

std::optional<std::size_t> parted(const History& history, const HistorySeries& a, const HistorySeries& b,
                                  bool& is_judged) {
  // An iteration may have the parameter in several graphs: before the step and behind it.
  const auto place_of = [&](const HistoryCell& cell) {
    const HistoryPlace& place = history.places()[cell.place];
    return std::pair(place.iteration, place.graph);
  };
  std::size_t in_a = 0;
  std::optional<std::size_t> since;
  bool was_equal_after_a_change = false;
  std::uint64_t last = 0;  // a fingerprint
  for (std::size_t in_b = 0; in_b < b.cells.size(); ++in_b) {
    if (history.has_nan(b.cells[in_b]) || history.has_inf(b.cells[in_b])) continue;
    const auto place = place_of(b.cells[in_b]);
    while (in_a < a.cells.size() && place_of(a.cells[in_a]) < place) ++in_a;
    if (in_a == a.cells.size() || place_of(a.cells[in_a]) != place) continue;
    const std::uint64_t print = b.fingerprints[in_b];
    if (print == 0 || a.fingerprints[in_a] == 0) continue;
    // One of the ranks was resumed with other statistics.
    if (((print ^ a.fingerprints[in_a]) & kFingerprintSet) != 0) continue;
    is_judged = true;
    if (print == a.fingerprints[in_a]) {
      was_equal_after_a_change |= last != 0 && last != print;
      since.reset();
    } else if (!since) {
      since = in_b;
    }
    last = print;
  }
  return was_equal_after_a_change ? since : std::nullopt;
}

}  // namespace tensorstat
