#include "stats/answer/findings/history.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>

#include "stats/answer/compare/fault_roles.hpp"
#include "stats/core/base/fnv1a.hpp"
#include "stats/data/rows/names/row_kind.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/data/rules/specials.hpp"

namespace tensorstat {
namespace {

std::optional<std::uint64_t> count_in(const StatisticsView& statistics, Category category) {
  const Value* value = statistics.find(category);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::uint64_t>(value)) return *whole;
  return std::nullopt;
}

// Six digits do not tell a small change of a parameter: only a digest or a longer number does.
bool tells_bits(const StatisticsView& statistics) {
  for (const Value& value : statistics.values) {
    if (std::holds_alternative<Digest>(value)) return true;
    const auto* real = std::get_if<double>(&value);
    if (real == nullptr || !std::isfinite(*real)) continue;
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", *real);
    if (std::strtod(text, nullptr) != *real) return true;
  }
  return false;
}

// The digests, the fastest first. A row's number has the place of its digest here in the lowest bits.
constexpr Category kDigests[] = {Category::kXor64, Category::kCrc32, Category::kMd5, Category::kHash};
constexpr std::uint64_t kDigestKind = 7;

// 0: the row has none.
std::uint64_t digest_in(const StatisticsView& statistics) {
  for (std::size_t i = 0; i < std::size(kDigests); ++i) {
    const Value* value = statistics.find(kDigests[i]);
    const auto* digest = value == nullptr ? nullptr : std::get_if<Digest>(value);
    if (digest != nullptr) return fnv1a(kFnv1aOfNothing, digest->bytes()) << 3 | (i + 1);
  }
  return 0;
}

std::size_t mixed(std::initializer_list<std::uint64_t> words) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

// Never 0.
std::uint64_t fingerprint_of(const StatisticsView& statistics) {
  std::uint64_t set = kFnv1aOfNothing;
  for (const Category category : statistics.categories) set = fnv1a(set, std::as_bytes(std::span(&category, 1)));
  return (content_of(statistics) & ~kFingerprintSet) | (set & kFingerprintSet) | 1;
}

std::uint64_t key_of(std::uint32_t tensor, std::uint32_t rank) { return std::uint64_t{tensor} << 32 | rank; }

template <typename Item, typename Ids>
std::uint32_t id_of(const Item& item, std::vector<Item>& items, Ids& ids) {
  const auto [entry, is_new] = ids.try_emplace(item, static_cast<std::uint32_t>(items.size()));
  if (is_new) items.push_back(item);
  return entry->second;
}

// An eighth more each time, instead of twice: the history of a large run is most of the memory there is.
template <typename Item>
void append(std::vector<Item>& list, const Item& item) {
  if (list.size() == list.capacity()) list.reserve(list.size() + list.size() / 8 + 8);
  list.push_back(item);
}

template <typename Item>
void reorder(std::vector<Item>& items, const std::vector<std::uint32_t>& order) {
  std::vector<Item> sorted;
  sorted.reserve(items.size());
  for (const std::uint32_t from : order) sorted.push_back(std::move(items[from]));
  items = std::move(sorted);
}

}  // namespace

template <>
std::size_t History::HashOf<HistoryTensor>::operator()(const HistoryTensor& key) const {
  return mixed({std::uint64_t{key.op_type} << 32 | key.op_name, std::uint64_t{key.slot} << 32 | key.call,
                static_cast<std::uint64_t>(key.execution) << 2 | std::uint64_t{key.is_input} << 1 |
                    std::uint64_t{key.is_parameter_of_call}});
}

template <>
std::size_t History::HashOf<HistoryPlace>::operator()(const HistoryPlace& key) const {
  return mixed({std::uint64_t{key.rank} << 32 | key.graph, key.iteration});
}

template <>
std::size_t History::HashOf<HistoryKind>::operator()(const HistoryKind& key) const {
  return mixed({std::uint64_t{key.dtype} << 32 | key.shape, key.measured, key.count, key.nan, key.positive_inf,
                key.negative_inf});
}

std::uint32_t History::series_of(HistoryTensor tensor, std::uint32_t rank, std::uint32_t place) {
  std::uint32_t id = id_of(tensor, tensors_, tensor_ids_);
  Repeated& repeated = repeated_[key_of(id, rank)];
  if (repeated.place != place) repeated = {place, 0};
  tensor.call = repeated.calls++;
  if (tensor.call != 0) id = id_of(tensor, tensors_, tensor_ids_);
  const auto [entry, is_new] = series_ids_.try_emplace(key_of(id, rank), static_cast<std::uint32_t>(series_.size()));
  if (is_new) {
    series_.push_back({.tensor = id, .rank = rank, .cells = {}, .fingerprints = {}, .digests = {}, .details = {}});
    begins_.push_back({.iteration = UINT64_MAX});
  }
  return entry->second;
}

const HistorySeries& History::add(const Entry& entry) {
  const std::uint32_t place = id_of(entry.place, places_, place_ids_);
  const std::uint32_t number = series_of({.op_type = texts_.id(entry.op_type),
                                          .op_name = texts_.id(entry.op_name),
                                          .slot = entry.slot,
                                          .is_input = entry.is_input,
                                          .is_parameter_of_call = entry.is_parameter_of_call,
                                          .execution = entry.execution},
                                         entry.place.rank, place);
  HistorySeries& series = series_[number];
  if (Begin& begin = begins_[number];
      std::tie(entry.place.iteration, entry.timestamp_us) < std::tie(begin.iteration, begin.timestamp_us)) {
    begin = {entry.place.iteration, entry.timestamp_us, entry.place.graph, entry.place.rank, entry.position};
  }
  HistoryCell cell{.place = place};
  HistoryKind kind{.dtype = texts_.id(entry.dtype), .shape = texts_.id(entry.shape)};
  const auto take = [&](Category category, HistoryBit bit, double& to) {
    const auto number = as_double(entry.statistics.find(category));
    if (!number) return;
    to = *number;
    kind.measured |= bit;
  };
  take(Category::kMax, kHasMax, cell.max);
  take(Category::kMin, kHasMin, cell.min);
  take(Category::kL2norm, kHasL2norm, cell.l2norm);
  take(Category::kAvg, kHasAvg, cell.avg);
  if (kind.has(kHasMax | kHasMin)) {
    kind.measured |= kHasAbsmax;
  } else if (!kind.has(kHasMax) && !kind.has(kHasMin)) {
    take(Category::kAbsmax, kHasAbsmax, cell.max);  // kHasMax stays clear: absmax() reads this value as absmax
  }
  if (const auto count = entry.count) {
    kind.count = *count;
    kind.measured |= kHasCount;
  }
  if (const auto nan = count_in(entry.statistics, Category::kNanCount)) {
    kind.nan = *nan;
    kind.measured |= kHasNanCount;
  }
  const auto positive = count_in(entry.statistics, Category::kPositiveInfCount);
  const auto negative = count_in(entry.statistics, Category::kNegativeInfCount);
  if (positive && negative) {
    kind.positive_inf = *positive;
    kind.negative_inf = *negative;
    kind.measured |= kHasInfCounts;
  }
  const Specials specials = specials_of(entry.statistics);
  if (specials.has_nan()) kind.measured |= kShowsNan;
  if (specials.has_inf()) kind.measured |= kShowsInf;
  if (specials.has_plus_inf) kind.measured |= kShowsPlusInf;
  if (specials.has_minus_inf) kind.measured |= kShowsMinusInf;
  cell.kind = id_of(kind, kinds_, kind_ids_);
  append(series.cells, cell);
  if (auto detail = detail_of(entry.statistics)) {
    append(details_, *std::move(detail));
    series.details.resize(series.cells.size());
    series.details.back() = static_cast<std::uint32_t>(details_.size());
  }
  if (const std::uint64_t digest = digest_in(entry.statistics); digest != 0) {
    while (series.digests.size() + 1 < series.cells.size()) append(series.digests, std::uint64_t{0});
    append(series.digests, digest);
  }
  if (row_kind(entry.op_type) == RowKind::kParameter) {
    std::uint64_t fingerprint = 0;
    if (tells_bits(entry.statistics)) fingerprint = fingerprint_of(entry.statistics);
    append(series.fingerprints, fingerprint);
  }
  ++row_count_;
  HistoryRank& rank = rank_states_[entry.place.rank];
  ++rank.rows;
  rank.last_iteration = std::max(rank.last_iteration, entry.place.iteration);
  rank.last_row_us = std::max(rank.last_row_us, entry.timestamp_us);
  return series;
}

const HistorySeries& History::add(const Row& row, const Record::Place& place) {
  const Identity& identity = row.identity;
  const std::string shape = to_string(row.shape);
  const auto count = element_count(row.shape);
  return add({.op_type = identity.op_type,
              .op_name = place.name,
              .dtype = row.data_type,
              .shape = shape,
              .is_input = identity.io == "input",
              .is_parameter_of_call = place.is_parameter,
              .slot = static_cast<std::uint32_t>(std::min<std::uint64_t>(identity.slot, UINT32_MAX)),
              .execution = place.execution,
              .place = {.rank = place.rank, .graph = place.graph, .iteration = place.iteration},
              .timestamp_us = identity.timestamp_us,
              .position = place.position,
              .count = count ? *count : 0,
              .statistics = row.statistics});
}

void History::finish() {
  order_places();
  order_series();
}

// By the times of their first rows; where a graph says its own order, its operators are exchanged among each other.
void History::order_series() {
  std::vector<std::uint32_t> order(series_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t index) { return std::pair(begins_[index].iteration, begins_[index].timestamp_us); });
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::vector<std::size_t>> graphs;  // in `order`
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Begin& begin = begins_[order[i]];
    if (begin.position) graphs[{begin.iteration, begin.rank, begin.graph}].push_back(i);
  }
  for (const auto& [graph, all] : graphs) {
    std::vector<std::uint32_t> of_graph;
    for (const std::size_t index : all) of_graph.push_back(order[index]);
    std::ranges::stable_sort(of_graph, {}, [&](std::uint32_t index) { return *begins_[index].position; });
    for (std::size_t i = 0; i < all.size(); ++i) order[all[i]] = of_graph[i];
  }
  if (std::ranges::is_sorted(order)) return;
  reorder(series_, order);
  reorder(begins_, order);
  for (std::uint32_t index = 0; index < series_.size(); ++index) {
    series_ids_[key_of(series_[index].tensor, series_[index].rank)] = index;
  }
}

void History::order_places() {
  std::vector<std::uint32_t> order(places_.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto rank_of_place = [&](std::uint32_t index) {
    const HistoryPlace& place = places_[index];
    return std::tuple(place.iteration, place.graph, place.rank);
  };
  if (!std::ranges::is_sorted(order, {}, rank_of_place)) {
    std::ranges::stable_sort(order, {}, rank_of_place);
    std::vector<std::uint32_t> now(order.size());
    for (std::uint32_t to = 0; to < order.size(); ++to) now[order[to]] = to;
    reorder(places_, order);
    for (std::uint32_t index = 0; index < places_.size(); ++index) place_ids_[places_[index]] = index;
    for (HistorySeries& series : series_) {
      for (HistoryCell& cell : series.cells) cell.place = now[cell.place];
    }
    for (auto& [key, repeated] : repeated_) repeated.place = now[repeated.place];
  }
  for (HistorySeries& series : series_) {
    if (!series.details.empty()) series.details.resize(series.cells.size());
    if (!series.digests.empty()) series.digests.resize(series.cells.size());
    if (!std::ranges::is_sorted(series.cells, {}, &HistoryCell::place)) {
      std::vector<std::uint32_t> by_place(series.cells.size());
      std::iota(by_place.begin(), by_place.end(), 0u);
      std::ranges::stable_sort(by_place, {}, [&](std::uint32_t cell) { return series.cells[cell].place; });
      reorder(series.cells, by_place);
      if (!series.fingerprints.empty()) reorder(series.fingerprints, by_place);
      if (!series.digests.empty()) reorder(series.digests, by_place);
      if (!series.details.empty()) reorder(series.details, by_place);
    }
    series.cells.shrink_to_fit();
  }
  ranks_.clear();
  iterations_.clear();
  for (const HistoryPlace& place : places_) {
    ranks_.push_back(place.rank);
    iterations_.push_back(place.iteration);
  }
  std::ranges::sort(ranks_);
  ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
  iterations_.erase(std::unique(iterations_.begin(), iterations_.end()), iterations_.end());
}

const HistorySeries* History::series(std::uint32_t tensor, std::uint32_t rank) const {
  const auto entry = series_ids_.find(key_of(tensor, rank));
  return entry == series_ids_.end() ? nullptr : &series_[entry->second];
}

std::optional<bool> History::same_digest(std::uint64_t a, std::uint64_t b) {
  if (a == 0 || (a & kDigestKind) != (b & kDigestKind)) return std::nullopt;
  return a == b;
}

std::size_t History::bytes() const {
  std::size_t bytes = 0;
  for (const HistorySeries& series : series_) {
    bytes += series.cells.capacity() * sizeof(HistoryCell) + series.fingerprints.capacity() * sizeof(std::uint64_t) +
             series.digests.capacity() * sizeof(std::uint64_t) + series.details.capacity() * sizeof(std::uint32_t);
  }
  for (const HistoryDetail& detail : details_) bytes += sizeof detail + detail.shares.capacity();
  return bytes;
}

double History::absmax(const HistoryCell& cell) const {
  const HistoryKind& kind = kinds_[cell.kind];
  if (!kind.has(kHasAbsmax)) return NAN;
  if (!kind.has(kHasMax)) return cell.max;
  if (std::isnan(cell.max) || std::isnan(cell.min)) return NAN;
  return std::max(std::fabs(cell.max), std::fabs(cell.min));
}

bool History::has_nan(const HistoryCell& cell) const { return kinds_[cell.kind].has(kShowsNan); }

bool History::has_inf(const HistoryCell& cell) const { return kinds_[cell.kind].has(kShowsInf); }

double History::size(const HistoryCell& cell) const {
  return kinds_[cell.kind].has(kHasL2norm) ? cell.l2norm : absmax(cell);
}

}  // namespace tensorstat
