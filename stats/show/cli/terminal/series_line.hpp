// A series of values as a small picture of text: one line of bars, or several.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tensorstat::cli {

// Values over iterations; nullopt: no row. Of sizes, so that the sign does not matter.
using SeriesValues = std::vector<std::optional<double>>;

// As many values as there are columns. Each is the worst that its column covers: NaN, then Inf, then the greatest size.
SeriesValues pooled_worst(std::span<const std::optional<double>> values, std::size_t columns);

// Bars of `rows` lines, the topmost first. Heights are logarithms, from the least to the greatest size above 0. NaN is
// "×" and Inf "▲" in the topmost line, zero is "·" in the lowest, no row is a space. Values that hardly differ are of
// middle height, because noise should not look like a change.
std::vector<std::string> series_bars(std::span<const std::optional<double>> values, std::size_t rows);

}  // namespace tensorstat::cli
