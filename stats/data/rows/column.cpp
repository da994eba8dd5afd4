#include "stats/data/rows/column.hpp"

#include <algorithm>

#include "stats/core/base/printable.hpp"

namespace tensorstat {

std::span<const Column> all_further_columns() {
  return {std::ranges::find(kColumns, true, &Column::is_further), std::end(kColumns)};
}

std::vector<std::string_view> further_columns() {
  std::vector<std::string_view> names;
  for (const Column& column : all_further_columns()) names.push_back(column.name);
  return names;
}

Result<std::vector<std::string>> further_columns_from(std::string_view comma_separated) {
  std::vector<std::string> names;
  for (std::string_view rest = comma_separated;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const Column* column = column_named(word);
    if (column == nullptr || !column->is_further) {
      std::string known;
      for (const auto name : further_columns()) known.append(known.empty() ? "" : ", ").append(name);
      return Error{Code::kInvalid, "there is no further column " + in_quotes(word) + "; known are " + known};
    }
    if (std::ranges::count(names, word) == 0) names.emplace_back(word);
    if (comma == rest.npos) return names;
    rest.remove_prefix(comma + 1);
  }
}

const Cell* Identity::find(std::string_view name) const {
  const auto entry = std::ranges::find(more, name, [](const auto& each) { return std::string_view(each.first); });
  return entry == more.end() ? nullptr : &entry->second;
}

void Identity::set(std::string_view name, Cell cell) {
  const auto entry = std::ranges::find(more, name, [](const auto& each) { return std::string_view(each.first); });
  if (entry == more.end()) {
    more.emplace_back(name, std::move(cell));
  } else {
    entry->second = std::move(cell);
  }
}

}  // namespace tensorstat
