// Parameters that were equal on two ranks and are not any more.
#pragma once

#include <cstddef>
#include <optional>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

// The cell of `b` from which on it differs from `a` to the end, where it was equal and not constant before. Sets
// `is_judged` if two cells could be compared.
std::optional<std::size_t> parted(const History& history, const HistorySeries& a, const HistorySeries& b,
                                  bool& is_judged);

}  // namespace tensorstat
