#include "stats/cli/query/field.hpp"

#include <algorithm>

#include "stats/base/printable.hpp"

namespace tensorstat::cli {
namespace {

Cell further(const Entry& entry, std::string_view name) {
  const Cell* const cell = entry.row.identity.find(name);
  return cell ? *cell : Cell(std::string());
}

constexpr Fact kFacts[] = {
    {"name", true, [](const Entry& e) -> Cell { return e.label(); }},
    {"path", true, [](const Entry& e) -> Cell { return e.path; }},
    {"tensor", true, [](const Entry& e) -> Cell { return e.tensor.value_or(""); }},
    {"dtype", true, [](const Entry& e) -> Cell { return e.row.data_type; }},
    {"shape", true, [](const Entry& e) -> Cell { return to_string(e.row.shape); }},
    {"bytes", false, [](const Entry& e) -> Cell { return e.row.data_size_bytes; }},
    {"op_type", true, [](const Entry& e) -> Cell { return e.row.identity.op_type; }},
    {"op_name", true, [](const Entry& e) -> Cell { return e.row.identity.op_name; }},
    {"io", true, [](const Entry& e) -> Cell { return e.row.identity.io; }},
    {"slot", false, [](const Entry& e) -> Cell { return e.row.identity.slot; }},
    {"time", false, [](const Entry& e) -> Cell { return e.row.identity.timestamp_us; }},
    {"rank", false, [](const Entry& e) { return further(e, "rank"); }},
    {"graph", false, [](const Entry& e) { return further(e, "graph"); }},
    {"iteration", false, [](const Entry& e) { return further(e, "iteration"); }},
};

}  // namespace

Result<Field> field_from(std::string_view name) {
  if (const auto* fact = std::ranges::find(kFacts, name, &Fact::name); fact != std::end(kFacts)) return Field(fact);
  const auto categories = categories_from(name);
  if (categories && categories->size() == 1) return Field(categories->front());
  return Error{Code::kInvalid, "'" + shown(name) + "' is neither a statistic (`tensorstat explain` lists them) nor one of " +
                                   fact_names()};
}

std::string fact_names() {
  std::string names;
  for (const Fact& fact : kFacts) names.append(names.empty() ? "" : ", ").append(fact.name);
  return names;
}

bool is_text(const Field& field) {
  const auto* category = std::get_if<Category>(&field);
  return category ? kind(*category) == ValueKind::kDigest || kind(*category) == ValueKind::kList : std::get<const Fact*>(field)->is_text;
}

Value number_of(const Entry& entry, const Field& field) {
  if (const auto* category = std::get_if<Category>(&field)) {
    const Value* const value = entry.row.statistics.find(*category);
    return value ? *value : Value();
  }
  const Cell cell = std::get<const Fact*>(field)->of(entry);
  const auto* number = std::get_if<std::uint64_t>(&cell);
  return number ? Value(*number) : Value();
}

std::string text_of(const Entry& entry, const Field& field) {
  if (std::holds_alternative<Category>(field)) return to_string(number_of(entry, field));
  const Cell cell = std::get<const Fact*>(field)->of(entry);
  const auto* text = std::get_if<std::string>(&cell);
  return text ? *text : "";
}

}  // namespace tensorstat::cli
