#include "stats/answer/findings/parted_ranks.hpp"

#include <cstdint>

namespace tensorstat {

std::optional<std::size_t> parted(const History& history, const HistorySeries& a, const HistorySeries& b,
                                  bool& is_judged) {
  std::size_t in_a = 0;
  std::optional<std::size_t> since;
  bool was_equal_after_a_change = false;
  std::uint64_t last = 0;  // a fingerprint
  for (std::size_t in_b = 0; in_b < b.cells.size(); ++in_b) {
    if (history.has_nan(b.cells[in_b]) || history.has_inf(b.cells[in_b])) continue;
    const std::uint64_t iteration = history.iteration(b.cells[in_b]);
    while (in_a < a.cells.size() && history.iteration(a.cells[in_a]) < iteration) ++in_a;
    if (in_a == a.cells.size() || history.iteration(a.cells[in_a]) != iteration) continue;
    const std::uint64_t print = b.fingerprints[in_b];
    if (print == 0 || a.fingerprints[in_a] == 0) continue;
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
