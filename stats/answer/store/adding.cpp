#include "stats/answer/store/adding.hpp"

#include <algorithm>

#include "stats/answer/compare/row_place.hpp"
#include "stats/core/base/joined_key.hpp"

namespace tensorstat {

std::uint32_t Adding::Interned::of(const std::string& text) {
  if (!texts.empty() && *texts[next[last]] == text) return last = next[last];
  const auto [entry, is_new] = numbers.try_emplace(text, static_cast<std::uint32_t>(texts.size()));
  if (is_new) {
    texts.push_back(&entry->first);
    ids.push_back(0);
    next.push_back(entry->second);
  }
  next[last] = entry->second;
  return last = entry->second;
}

void Adding::begin(const std::string& path, const std::string& folder, const SourceState& before, bool is_replaced) {
  files_.push_back({path, folder, before, before, is_replaced, false, 0, 0, 0});
  last_.reset();
}

void Adding::end(const SourceState& after) {
  File& file = files_.back();
  file.after = after;
  file.after.source = file.before.source;
  file.after.growth.row_count = (file.is_replaced ? 0 : file.before.growth.row_count) + file.rows;
}

Adding::PlaceAndExtra Adding::place_and_extra(const Identity& identity, const DumpPlace& place) {
  const DumpPlace where{.rank = static_cast<std::uint32_t>(number_or(identity, "rank", place.rank)),
                        .graph = static_cast<std::uint32_t>(number_or(identity, "graph", place.graph)),
                        .iteration = number_or(identity, "iteration", place.iteration)};
  key_.clear();
  append_key(key_, where.rank);
  append_key(key_, where.graph);
  append_key(key_, where.iteration);
  const std::uint32_t number = places_.of(key_);
  if (number == place_facts_.size()) place_facts_.push_back(where);
  return {identity.more, number, extras_.of(text_of_cells(identity.more))};
}

void Adding::add(const Row& row, const DumpPlace& place) {
  const Identity& identity = row.identity;
  File& file = files_.back();
  Pending pending{};
  pending.file = static_cast<std::uint32_t>(files_.size() - 1);
  pending.line = (file.is_replaced ? 0 : file.before.growth.row_count) + file.rows++;
  pending.task_id = identity.task_id;
  pending.stream_id = identity.stream_id;
  pending.time_us = identity.timestamp_us;

  key_.clear();
  append_key(key_, identity.op_name);
  append_key(key_, identity.op_type);
  append_key(key_, identity.io);
  append_key(key_, identity.slot);
  pending.tensor = tensors_.of(key_);
  if (pending.tensor == tensor_facts_.size()) {
    tensor_facts_.push_back(identity);
    tensor_facts_.back().more.clear();
  }

  if (!last_ || identity.more != last_->more) last_ = place_and_extra(identity, place);
  pending.place = last_->place;
  pending.extra = last_->extra;

  key_.clear();
  append_key(key_, row.data_type);
  append_key(key_, row.data_size_bytes);
  append_key(key_, std::uint64_t{row.shape.size()});
  for (const std::uint64_t dimension : row.shape) append_key(key_, dimension);
  const auto& categories = row.statistics.categories;
  key_.append(reinterpret_cast<const char*>(categories.data()), categories.size() * sizeof(Category));
  pending.kind = kinds_.of(key_);
  if (pending.kind == kind_facts_.size()) {
    Row fact;
    fact.data_type = row.data_type;
    fact.data_size_bytes = row.data_size_bytes;
    fact.shape = row.shape;
    kind_facts_.push_back(std::move(fact));
    Kind layout{categories, {}, {}, element_kind(row.data_type)};
    for (std::size_t i = 0; i < categories.size(); ++i) {
      const auto end = categories.begin() + static_cast<std::ptrdiff_t>(i);
      layout.is_again.push_back(i >= kMostStatistics || std::find(categories.begin(), end, categories[i]) != end);
    }
    kind_layouts_.push_back(std::move(layout));
  }
  if (rows_.size() == kManyRows) {  // growing by doubling would copy all of it, and touch twice the memory
    rows_.reserve(kMostRows);
    cells_.reserve(cells_.size() / kManyRows * kMostRows);
  }
  const Kind& layout = kind_layouts_[pending.kind];
  pending.first_cell = cells_.size();
  for (std::size_t i = 0; i < categories.size(); ++i) {
    StoredCell cell = cell_of(row.statistics.values[i], categories[i], layout.element, texts_);
    if (cell.content == StoredCell::Content::kExact || layout.is_again[i]) {
      exact_.emplace_back(rows_.size(), static_cast<std::uint32_t>(i), row.statistics.values[i]);
      pending.nan |= kHasExact;
      cell.content = StoredCell::Content::kExact;
    }
    if (cell.content == StoredCell::Content::kNan)
      pending.nan |= std::uint64_t{1} << static_cast<std::uint32_t>(categories[i]);
    cells_.push_back(cell);
  }
  rows_.push_back(pending);
}

}  // namespace tensorstat
