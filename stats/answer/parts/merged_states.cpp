#include "stats/answer/parts/merged_states.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "stats/answer/parts/plan.hpp"
#include "stats/core/base/caught.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

using Kind = StateRecord::Kind;

// Faults come behind all tensors. Pieces of a tensor come by their first element, the longer one first.
bool comes_before(const StateRecord* a, const StateRecord* b) {
  const auto place = [](const StateRecord& record) {
    return std::tuple(record.kind == Kind::kFault, record.file, record.tensor, record.row, record.first, ~record.count);
  };
  return place(*a) < place(*b);
}

// Whether two pieces describe the same tensor of the same file.
bool are_alike(const StateRecord& a, const StateRecord& b) {
  const Row &one = a.entry.row, &other = b.entry.row;
  return a.total == b.total && a.entry.path == b.entry.path && a.entry.tensor == b.entry.tensor &&
         one.identity.timestamp_us == other.identity.timestamp_us && one.data_size_bytes == other.data_size_bytes &&
         one.data_type == other.data_type && one.shape == other.shape;
}

Error broken_tensor(const StateRecord& piece, const std::string& why) {
  return {Code::kUnreadable, printable_name(piece.entry.label()) + ": " + why};
}

std::string elements_text(std::uint64_t first, std::uint64_t end) {
  return "elements " + std::to_string(first) + " to " + std::to_string(end - 1);
}

}  // namespace

Status MergedStates::add(const std::string& name, std::string_view text) try {
  auto state = parse_state(text);
  if (!state) return Error{state.error().code, printable(name) + ": " + state.error().message};
  const StateHead& head = state->head;
  if (!states_.empty()) {
    const StateHead& first = states_.front().state.head;
    if (head.key != first.key || head.parts != first.parts || text_of(head.request) != text_of(first.request)) {
      return Error{Code::kUnreadable, printable(name) + ": a state of another plan than " +
                                          printable(states_.front().name) + ", and is left out"};
    }
  }
  states_.push_back({name, *std::move(state)});
  return {};
} catch (...) {
  return caught();
}

Status MergedStates::join() try {
  if (states_.empty()) return {};
  // A part may have been folded again. Then two states have it, and the state with fewer faults counts. If this order
  // gives states that overlap, the largest states count.
  const auto faults = [](const Named& each) { return each.state.head.faults; };
  const auto parts = [](const Named& each) { return each.state.head.part_numbers.size(); };
  std::ranges::stable_sort(states_, std::ranges::greater(), parts);
  std::ranges::stable_sort(states_, std::ranges::less(), faults);
  if (choose()) return {};
  std::ranges::stable_sort(states_, std::ranges::greater(), parts);
  return choose();
} catch (...) {
  return caught();
}

// Keeps a state if no state before it has any of its parts, and drops it if states before it have all of them. Else
// returns an error.
Status MergedStates::choose() {
  std::vector<const Named*> holders(states_.front().state.head.parts);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const Named& each = states_[i];
    const std::vector<std::uint32_t>& part_numbers = each.state.head.part_numbers;
    const auto is_known = [&](std::uint32_t part) { return holders[part] != nullptr; };
    const auto known = std::ranges::count_if(part_numbers, is_known);
    if (static_cast<std::size_t>(known) == part_numbers.size()) continue;
    if (known != 0) {
      const auto shared = std::ranges::find_if(part_numbers, is_known);
      return Error{Code::kInvalid, printable(holders[*shared]->name) + " and " + printable(each.name) + " share part " +
                                       part_name(*shared, each.state.head.parts) +
                                       ", but each holds parts that the other one lacks; give each part once"};
    }
    chosen.push_back(i);
    for (const std::uint32_t part : part_numbers) holders[part] = &each;
  }
  head_ = states_.front().state.head;
  head_.records = head_.faults = 0;
  head_.part_numbers.clear();
  for (std::uint32_t part = 0; part < head_.parts; ++part) {
    if (holders[part] != nullptr) head_.part_numbers.push_back(part);
  }
  std::vector<Named> kept;
  for (const std::size_t i : chosen) {
    head_.faults += states_[i].state.head.faults;
    kept.push_back(std::move(states_[i]));
  }
  states_ = std::move(kept);
  return {};
}

std::vector<std::uint32_t> MergedStates::missing() const {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t part = 0; part < head_.parts; ++part) {
    if (!std::ranges::binary_search(head_.part_numbers, part)) missing.push_back(part);
  }
  return missing;
}

MergedStates::Records MergedStates::sorted() const {
  Records records;
  for (const Named& each : states_) {
    for (const StateRecord& record : each.state.records) records.push_back(&record);
  }
  std::ranges::stable_sort(records, comes_before);
  return records;
}

std::vector<std::string> MergedStates::paths() const {
  std::vector<std::string> paths;
  for (const StateRecord* record : sorted()) {
    if (record->kind != Kind::kFault && (paths.empty() || paths.back() != record->entry.path)) {
      paths.push_back(record->entry.path);
    }
  }
  return paths;
}

// How many of the records, from the first on, are pieces of the same tensor; 1 if the first is not a piece.
std::size_t MergedStates::same_tensor(std::span<const StateRecord* const> records) {
  const StateRecord& first = *records.front();
  std::size_t count = 1;
  while (first.kind == Kind::kPiece && count < records.size() && records[count]->kind == Kind::kPiece &&
         records[count]->file == first.file && records[count]->tensor == first.tensor) {
    ++count;
  }
  return count;
}

Result<std::vector<MergedStates::Stretch>> MergedStates::stretches_of(std::span<const StateRecord* const> pieces) {
  std::vector<Stretch> stretches;
  for (const StateRecord* piece : pieces) {
    if (!are_alike(*pieces.front(), *piece)) {
      return broken_tensor(*piece, "its parts describe different tensors: the file was changed; plan again");
    }
    auto partial = Partial::parse(std::as_bytes(std::span(piece->partial)));
    if (!partial) return broken_tensor(*piece, partial.error().message);
    if (partial->count() != piece->count || name(partial->dtype()) != piece->entry.row.data_type) {
      return broken_tensor(*piece, "a part of it contradicts its partial");
    }
    if (stretches.empty() || stretches.back().first + stretches.back().count != piece->first) {
      if (!stretches.empty() && piece->first < stretches.back().first + stretches.back().count) {
        return broken_tensor(*piece, elements_text(piece->first, piece->first + piece->count) + " are there twice");
      }
      stretches.push_back({piece->first, piece->count, *std::move(partial)});
      continue;
    }
    if (Status merged = stretches.back().partial.merge(*partial); !merged) {
      return broken_tensor(*piece, merged.error().message);
    }
    stretches.back().count += piece->count;
  }
  return stretches;
}

void MergedStates::each(const Listener& listener) const {
  const Records records = sorted();
  for (std::span<const StateRecord* const> rest(records); !rest.empty();) {
    const auto group = rest.first(same_tensor(rest));
    rest = rest.subspan(group.size());
    const StateRecord& first = *group.front();
    if (first.kind == Kind::kFault) {
      listener.fault(first);
      continue;
    }
    SurveyedTensor row;
    static_cast<TensorRow&>(row) = first.entry;
    const Categories& measured = head_.request.measured;
    std::vector<Decision> placement;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      placement.push_back({measured[i], first.engines[first.engines.size() == 1 ? 0 : i], {}});
    }
    row.placement = placement;
    if (first.kind == Kind::kPiece) {
      const auto stretches = stretches_of(group);
      if (!stretches) {
        listener.broken(stretches.error().message);
        continue;
      }
      // The first stretch with a gap before or behind it.
      const Stretch& begin = stretches->front();
      if (begin.first != 0 || begin.count != first.total) {
        const std::uint64_t from = begin.first != 0 ? 0 : begin.count;
        const std::uint64_t to = begin.first != 0        ? begin.first
                                 : stretches->size() > 1 ? (*stretches)[1].first
                                                         : first.total;
        listener.broken(broken_tensor(first, elements_text(from, to) + " are missing, so it has no row").message);
        continue;
      }
      row.row.statistics.categories = measured;
      for (const Category category : measured) {
        row.row.statistics.values.push_back(begin.partial.finish(category));
      }
    }
    listener.row(std::move(row));
  }
}

Result<std::string> MergedStates::state() const try {
  StateHead head = head_;
  std::string text;
  const auto add = [&](const StateRecord& record) {
    text += written(record);
    head.records += 1;
  };
  const Records records = sorted();
  for (std::span<const StateRecord* const> rest(records); !rest.empty();) {
    const auto group = rest.first(same_tensor(rest));
    rest = rest.subspan(group.size());
    if (group.front()->kind != Kind::kPiece) {
      add(*group.front());
      continue;
    }
    const auto stretches = stretches_of(group);
    if (!stretches) return stretches.error();
    for (const Stretch& stretch : *stretches) {
      StateRecord record = *group.front();
      record.first = stretch.first;
      record.count = stretch.count;
      const std::vector<std::byte> bytes = stretch.partial.serialize();
      record.partial.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      add(record);
    }
  }
  return written(head) + text;
} catch (...) {
  return caught();
}

std::string missing_text(const std::vector<std::uint32_t>& missing, std::uint32_t parts) {
  constexpr std::size_t kMostNames = 8;
  std::string text = missing.size() == 1 ? "part " : "parts ";
  for (std::size_t i = 0; i < std::min(missing.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + part_name(missing[i], parts);
  }
  if (missing.size() > kMostNames) text += " and " + std::to_string(missing.size() - kMostNames) + " more";
  return text + " of " + std::to_string(parts) + (missing.size() == 1 ? " is missing" : " are missing");
}

}  // namespace tensorstat
