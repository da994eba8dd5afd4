#include "stats/answer/compare/record.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace tensorstat {

void Record::add(const Row& row, const Place& place) {
  RecordRow seen;
  // Most of what a row says, the row before it said, too.
  const auto id_of = [&](std::string_view text, std::uint32_t RecordRow::*member) {
    return !rows_.empty() && texts_[rows_.back().*member] == text ? rows_.back().*member : texts_.id(text);
  };
  seen.op_type = id_of(row.identity.op_type, &RecordRow::op_type);
  seen.name = id_of(place.name, &RecordRow::name);
  seen.file = id_of(place.file, &RecordRow::file);
  seen.tensor = id_of(place.tensor, &RecordRow::tensor);
  seen.argument = id_of(place.argument, &RecordRow::argument);
  seen.dtype = id_of(row.data_type, &RecordRow::dtype);
  if (rows_.empty() || row.shape != last_shape_) {
    seen.shape = texts_.id(to_string(row.shape));
    last_shape_ = row.shape;
  } else {
    seen.shape = rows_.back().shape;
  }
  seen.rank = place.rank;
  seen.slot = static_cast<std::uint32_t>(std::min<std::uint64_t>(row.identity.slot, UINT32_MAX));
  seen.is_input = row.identity.io == "input";
  seen.is_parameter = place.is_parameter;
  seen.execution = place.execution;
  seen.iteration = place.iteration;
  seen.graph = place.graph;
  seen.position = place.position.value_or(kNoPosition);
  seen.timestamp_us = row.identity.timestamp_us;
  const auto count = element_count(row.shape);
  seen.element_count = count ? *count : 0;
  seen.first_value = values_.size();

  // Rows that come one after another nearly always have the same categories.
  std::size_t known = categories_.size();
  while (known > 0 && categories_[known - 1] != row.statistics.categories) --known;
  if (known == 0) {
    categories_.push_back(row.statistics.categories);
    known = categories_.size();
  }
  seen.categories = static_cast<std::uint32_t>(known - 1);
  values_.insert(values_.end(), row.statistics.values.begin(), row.statistics.values.end());

  const auto is_same_run = [&] {
    const auto key = [](const RecordRow& tensor) {
      return std::tie(tensor.op_type, tensor.name, tensor.rank, tensor.iteration, tensor.execution);
    };
    if (rows_.empty() || key(rows_.back()) != key(seen)) return false;
    return std::none_of(
        rows_.begin() + static_cast<std::ptrdiff_t>(first_rows_.back()), rows_.end(),
        [&](const RecordRow& tensor) { return tensor.is_input == seen.is_input && tensor.slot == seen.slot; });
  };
  if (!is_same_run()) first_rows_.push_back(rows_.size());
  seen.run = run_count() - 1;
  rows_.push_back(seen);
}

void Record::sort() {
  std::vector<std::uint32_t> order(run_count());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
    const RecordRow &x = rows_[first_rows_[a]], &y = rows_[first_rows_[b]];
    return std::tie(x.iteration, x.timestamp_us) < std::tie(y.iteration, y.timestamp_us);
  };
  if (!std::ranges::is_sorted(order, is_before)) std::ranges::stable_sort(order, is_before);
  order_graphs(order);
  if (std::ranges::is_sorted(order)) return;
  std::vector<RecordRow> rows;
  std::vector<std::size_t> first_rows;
  rows.reserve(rows_.size());
  first_rows.reserve(order.size());
  for (const std::uint32_t old : order) {
    first_rows.push_back(rows.size());
    for (RecordRow row : run(old)) {
      row.run = static_cast<std::uint32_t>(first_rows.size() - 1);
      rows.push_back(row);
    }
  }
  rows_ = std::move(rows);
  first_rows_ = std::move(first_rows);
}

void Record::order_graphs(std::vector<std::uint32_t>& order) const {
  const auto first_row = [&](std::uint32_t run) -> const RecordRow& { return rows_[first_rows_[run]]; };
  using Graph = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // iteration, rank, graph
  std::map<Graph, std::vector<std::size_t>> places;                       // indices in `order` of runs with a position
  for (std::size_t i = 0; i < order.size(); ++i) {
    const RecordRow& row = first_row(order[i]);
    if (row.position != kNoPosition) places[{row.iteration, row.rank, row.graph}].push_back(i);
  }
  for (const auto& [graph, all] : places) {
    std::vector<std::uint32_t> runs;
    for (const std::size_t index : all) runs.push_back(order[index]);
    std::ranges::stable_sort(runs, {}, [&](std::uint32_t run) { return first_row(run).position; });
    for (std::size_t i = 0; i < all.size(); ++i) order[all[i]] = runs[i];
  }
}

StatisticsView Record::statistics(const RecordRow& row) const {
  const Categories& categories = categories_[row.categories];
  return {categories, {values_.data() + row.first_value, categories.size()}};
}

std::span<const RecordRow> Record::run(std::uint32_t number) const {
  const std::size_t end = number + 1 < run_count() ? first_rows_[number + 1] : rows_.size();
  return std::span(rows_).subspan(first_rows_[number], end - first_rows_[number]);
}

}  // namespace tensorstat
