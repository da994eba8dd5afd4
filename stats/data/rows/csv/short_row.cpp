#include "stats/data/rows/csv/short_row.hpp"

#include <algorithm>

namespace tensorstat {

void fill_short_row(std::span<const Field> fields, std::string_view missing, std::vector<std::string_view>& row) {
  const auto is_count = [](const Field& field) {
    return field.column == nullptr && field.category == Category::kCount;
  };
  const std::size_t identity =
      static_cast<std::size_t>(std::ranges::find(fields, nullptr, &Field::column) - fields.begin());
  if (row.size() >= fields.size() || row.size() < identity || identity == fields.size()) return;
  const auto is_missing = [&](std::string_view text) { return text.empty() || text == missing; };
  const auto values = std::span(row).subspan(identity);
  const auto has_value = std::ranges::count_if(values, is_missing, {}) + 1;
  if (static_cast<std::size_t>(has_value) >= values.size() && !values.empty() &&
      std::ranges::any_of(values, is_missing)) {
    const auto count = std::ranges::find_if_not(values, is_missing);
    const std::string_view count_text = count == values.end() ? missing : *count;
    row.resize(identity);
    for (const Field& field : fields.subspan(identity)) row.push_back(is_count(field) ? count_text : missing);
    return;
  }
  if (row.size() + 1 != fields.size() || !is_count(fields[identity])) return;
  const auto second = std::ranges::find_if(fields.subspan(identity + 1), is_count) - fields.begin() - 1;
  const bool has_second = static_cast<std::size_t>(second) < row.size();
  row.insert(row.begin() + static_cast<std::ptrdiff_t>(identity), has_second ? row[second] : missing);
}

}  // namespace tensorstat
