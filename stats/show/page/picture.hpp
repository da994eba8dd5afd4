// A run's map as a picture, by the rule of the page: a pixel shows the worst cell that it covers.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat {

// The map alone, at most 1200 x 640 pixels; each tensor a row, each iteration a column. An error: nothing was measured
// that could be drawn.
Result<std::string> png_of(const History& history);

// The verdict, the map with its axes and its legend, and the first findings. Text is text; the map is a PNG in it.
Result<std::string> svg_of(const History& history, const Findings& findings, const std::string& source);

}  // namespace tensorstat
