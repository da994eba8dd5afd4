#include "stats/data/rows/csv/csv_heading.hpp"

#include <algorithm>
#include <optional>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

// The meaning of a column behind the dialect's own.
std::optional<Field> field_of(std::string_view written, const CsvDialect& dialect) {
  for (const auto& own : dialect.statistics) {
    if (own.heading == written) return Field{nullptr, own.category, own.heading};
  }
  for (const Category category : every_category()) {
    if (!dialect.orders.empty() && std::ranges::count(dialect.orders.back(), category) == 0) continue;
    if (heading(dialect, category) == written) return Field{nullptr, category, heading(dialect, category)};
  }
  if (const auto quantile = category_of_column(written); quantile && is_quantile(*quantile) && dialect.orders.empty()) {
    return Field{nullptr, *quantile, column(*quantile)};
  }
  if (!dialect.takes_further_columns()) return std::nullopt;
  for (const Column& column : all_further_columns()) {
    if (column.heading == written) return Field{&column, {}, column.heading};
  }
  return std::nullopt;
}

// Fills in the candidate's fields, one for each heading. What is wrong with the first that has none, or nothing.
std::string fill(Candidate& candidate, std::span<const std::string_view> headings) {
  const auto& columns = candidate.dialect->columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i < headings.size() && headings[i] == columns[i].heading) {
      candidate.fields.push_back({columns[i].column, {}, columns[i].heading});
      continue;
    }
    std::string known;
    for (const auto& headed : columns) known.append(known.empty() ? "" : ",").append(headed.heading);
    return "the heading must begin with " + known;
  }
  for (const std::string_view written : headings.subspan(columns.size())) {
    const auto field = field_of(written, *candidate.dialect);
    if (!field) return "no statistic has the column \"" + shown(written) + "\"";
    const bool is_twice =
        field->column != nullptr && std::ranges::count(candidate.fields, field->column, &Field::column) != 0;
    if (is_twice) return "the column \"" + shown(written) + "\" comes twice";
    candidate.fields.push_back(*field);
  }
  return {};
}

}  // namespace

Result<std::vector<Candidate>> candidates_of(std::span<const std::string_view> headings) {
  std::vector<Candidate> candidates;
  std::string wrong;
  std::size_t most_fields = 0;
  for (const std::string_view each : dialect_names()) {
    Candidate candidate{*dialect_from(each), &value_of(*dialect_from(each)), {}};
    std::string mine = fill(candidate, headings);
    if (mine.empty()) {
      candidates.push_back(std::move(candidate));
    } else if (wrong.empty() || candidate.fields.size() > most_fields) {
      wrong = std::move(mine);
      most_fields = candidate.fields.size();
    }
  }
  if (candidates.empty()) return Error{Code::kUnreadable, std::move(wrong)};
  return candidates;
}

}  // namespace tensorstat
