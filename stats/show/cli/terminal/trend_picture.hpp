// A run as a picture of characters: a map of tensors by iterations, and a line of bars for each finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stats/answer/findings/findings.hpp"
#include "stats/answer/findings/heat_map.hpp"

namespace tensorstat::cli {

enum class Palette : std::uint8_t { kNone, k256, kTrue };  // colours of the terminal
// By COLORTERM and TERM, where colours are wanted at all.
Palette palette_of_terminal(bool wants_color);

struct TrendLook {
  std::size_t columns = 80, rows = 24;
  Palette palette = Palette::kNone;
};

// At most look.rows - 1 lines of at most look.columns each: the verdict, the map, its axis, bars, and the legend. The
// map is made with `choice`; its most_rows and most_columns are set here. Without colours a character is one cell, with
// colours it is two.
std::string trend_picture(const History& history, const tensorstat::Findings& findings, HeatMap::Choice choice,
                          const TrendLook& look);

}  // namespace tensorstat::cli
