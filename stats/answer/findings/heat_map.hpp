// A run as a map of tensors by iterations, of any size: each cell of the map shows the worst cell of the run that it
// covers, so that one NaN among ten million is seen. The page's script draws by the same rule
// (stats/show/page/heat.js).
//
//   const HeatMap map(history, {.rows = 28, .columns = 55});
//   for (y, x) draw(map.at(y, x).look(), map.at(y, x).change());
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

// The content of a cell. A greater one is worse.
enum class HeatLook : std::uint8_t { kMissing, kZero, kValue, kMinusInf, kPlusInf, kNan };

// A key orders cells: the greater key is the worse cell.
class HeatKey {
 public:
  HeatKey() = default;  // missing
  explicit HeatKey(HeatLook look, double change = 0);
  HeatLook look() const;
  // For kValue: log2 of the value over the median of the tensor's own past, in steps of 1/16, at most 1024 either way.
  double change() const;
  // The strength of its colour in every picture, from 0 to 1. A change of less than a factor of two has no colour: a
  // calm run is a calm picture. heat.js computes the same.
  double shade() const;
  friend auto operator<=>(const HeatKey&, const HeatKey&) = default;

 private:
  std::uint32_t key_ = 0;
};

// The statistic that is drawn: l2norm where it was measured, else the greatest magnitude.
enum class HeatValue : std::uint8_t { kL2norm, kAbsmax, kMax, kMin, kAvg };
std::optional<HeatValue> heat_value_from(std::string_view name);
std::string_view name(HeatValue value);
// NaN: it was not measured.
double value_of(const History& history, const HistoryCell& cell, HeatValue value);
// The first statistic that some cell has; nullopt if no cell has one.
std::optional<HeatValue> first_measured(const History& history);

// The keys of a series, a cell each. A tensor's past is its values that are older than 50 iterations; until there are
// 50 of those, its first 50.
std::vector<HeatKey> keys_of(const History& history, const HistorySeries& series, HeatValue value);

class HeatMap {
 public:
  struct Choice {
    HeatValue value = HeatValue::kL2norm;
    std::optional<std::uint32_t> rank = {};      // nullopt: the worst of all
    std::vector<std::uint32_t> tensors = {};     // indices in the history, by row; empty: all, in order of execution
    std::uint64_t first = 0, last = UINT64_MAX;  // iterations
    std::size_t most_rows = 0, most_columns = 0;
  };
  HeatMap(const History& history, Choice choice);

  // At most as chosen, and at most as many as there are tensors and iterations.
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  HeatKey at(std::size_t row, std::size_t column) const { return keys_[row * columns_ + column]; }
  const std::vector<std::uint32_t>& tensors() const { return tensors_; }
  const std::vector<std::uint64_t>& iterations() const { return iterations_; }
  // The first tensor or iteration of a row or column: of tensors() and iterations().
  std::size_t first_of_row(std::size_t row) const { return row * tensors_.size() / rows_; }
  std::size_t first_of_column(std::size_t column) const { return column * iterations_.size() / columns_; }
  std::optional<std::size_t> column_of(std::uint64_t iteration) const;

 private:
  std::size_t rows_ = 0, columns_ = 0;
  std::vector<std::uint32_t> tensors_;
  std::vector<std::uint64_t> iterations_;
  std::vector<HeatKey> keys_;
};

}  // namespace tensorstat
