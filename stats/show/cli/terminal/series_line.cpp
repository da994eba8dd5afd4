#include "stats/show/cli/terminal/series_line.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "stats/show/cli/terminal/bars.hpp"

namespace tensorstat::cli {
namespace {

constexpr double kLeastRange = 1;  // of the logarithms to base 2: less than a factor of two is flat

// The worse of two values.
bool is_worse(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return std::fabs(a) > std::fabs(b);
}

}  // namespace

SeriesValues pooled_worst(std::span<const std::optional<double>> values, std::size_t columns) {
  SeriesValues pooled(std::min(columns, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& to = pooled[i * pooled.size() / values.size()];
    if (values[i] && (!to || is_worse(*values[i], *to))) to = values[i];
  }
  return pooled;
}

std::vector<std::string> series_bars(std::span<const std::optional<double>> values, std::size_t rows) {
  double low = INFINITY, high = -INFINITY;
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value) || *value == 0) continue;
    low = std::min(low, std::log2(std::fabs(*value)));
    high = std::max(high, std::log2(std::fabs(*value)));
  }
  if (high - low < kLeastRange) {
    const double middle = (low + high) / 2;
    low = middle - kLeastRange / 2;
    high = middle + kLeastRange / 2;
  }
  const double eighths = static_cast<double>(rows) * 8;
  std::vector<std::string> lines(rows);
  for (const auto& value : values) {
    const bool is_nan = value && std::isnan(*value), is_inf = value && std::isinf(*value);
    const bool is_zero = value && *value == 0;
    double height = 0;
    if (value && !is_nan && !is_inf && !is_zero) {
      height = std::max(1.0, std::round((std::log2(std::fabs(*value)) - low) / (high - low) * eighths));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const double above = height - static_cast<double>(rows - 1 - row) * 8;
      std::string_view shape = bar(static_cast<std::size_t>(std::clamp(above, 0.0, 8.0)));
      if (row == 0 && (is_nan || is_inf)) shape = is_nan ? "×" : "▲";
      if (row + 1 == rows && is_zero) shape = "·";
      lines[row] += shape;
    }
  }
  return lines;
}

}  // namespace tensorstat::cli
