#include "stats/data/rows/conversion_losses.hpp"

#include <utility>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kFew = 3, kMostKinds = 1000;

std::string text_of(const Cell& cell) {
  const auto* number = std::get_if<std::uint64_t>(&cell);
  return number ? std::to_string(*number) : std::get<std::string>(cell);
}

// A column's cell as a text; empty if the row does not have it.
std::string cell_text(const Row& row, const Column& column) {
  if (column.kind == ColumnKind::kShape) return to_string(row.shape);
  if (const auto* number = column.number.of(row)) return std::to_string(*number);
  if (const auto* text = column.text.of(row)) return *text;
  const Cell* cell = row.identity.find(column.name);
  return cell ? text_of(*cell) : "";
}

}  // namespace

std::string row_label(const Identity& identity) {
  return identity.op_name + "." + identity.io + "." + std::to_string(identity.slot);
}

void ConversionLosses::add(std::string kind, std::string example) {
  if (groups_.size() == kMostKinds && groups_.count(kind) == 0) kind = "something else";
  Group& group = groups_[std::move(kind)];
  ++group.count;
  if (group.examples.size() < kFew) group.examples.push_back(std::move(example));
}

void ConversionLosses::dropped(std::string_view heading, std::string_view to, const Row& row) {
  add(std::string(heading) + " has no place in " + std::string(to), shown(row_label(row.identity)));
}

void ConversionLosses::changed(std::string_view heading, const Row& row, std::string_view before,
                               std::string_view after) {
  add(std::string(heading) + " reads otherwise",
      shown(row_label(row.identity)) + ": " + shown(before) + " became " + (after.empty() ? "empty" : shown(after)));
}

void ConversionLosses::refused(const Row& row, std::string_view why) {
  ++refused_rows_;
  add("not carried", shown(row_label(row.identity)) + ": " + std::string(why));
}

void ConversionLosses::left_out(std::string_view call, std::uint64_t count, std::string_view to) {
  if (count != 0 && left_out_.count == 0) {
    left_out_.words =
        " arguments that are no tensors have no place in " + std::string(to) + ", the first: of " + shown(call);
  }
  left_out_.count += count;
}

void ConversionLosses::cut_short(std::string_view call, std::uint64_t count, std::string_view member,
                                 std::string_view to) {
  if (count != 0 && cut_short_.count == 0) {
    cut_short_.words =
        " tensors say what has no place in " + std::string(to) + ", the first: " + shown(member) + " of " + shown(call);
  }
  cut_short_.count += count;
}

std::vector<std::string> ConversionLosses::words() const {
  std::vector<std::string> lines;
  for (const Sum& sum : {left_out_, cut_short_}) {
    if (sum.count != 0) lines.push_back(std::to_string(sum.count) + sum.words);
  }
  for (const auto& [kind, group] : groups_) {
    if (group.count <= kFew) {
      for (const std::string& example : group.examples) lines.push_back(kind + ": " + example);
    } else {
      lines.push_back(kind + " in " + std::to_string(group.count) + " rows, the first: " + group.examples.front());
    }
  }
  return lines;
}

void ConversionLosses::compare(const Row& before, const Row& after,
                               const std::function<bool(const Column&)>& has_place) {
  for (const Column& column : kColumns) {
    if (!has_place(column)) continue;
    const std::string was = cell_text(before, column);
    if (column.is_further && was.empty()) continue;
    if (std::string is = cell_text(after, column); is != was) changed(column.heading, before, was, is);
  }
  for (std::size_t i = 0; i < before.statistics.categories.size(); ++i) {
    const Category category = before.statistics.categories[i];
    const Value* is = after.statistics.find(category);
    const std::string was = to_string(before.statistics.values[i]), now = is ? to_string(*is) : "";
    if (!was.empty() && was != now) changed(column(category), before, was, now);
  }
}

}  // namespace tensorstat
