#include "stats/rules/subject.hpp"

#include <algorithm>

#include "stats/base/printable.hpp"

namespace tensorstat {
namespace {

Cell further(const TensorRow& row, std::string_view name) {
  const Cell* const cell = row.row.identity.find(name);
  return cell ? *cell : Cell(std::string());
}

constexpr Fact kFacts[] = {
    {"name", true, [](const TensorRow& e) -> Cell { return e.label(); }},
    {"path", true, [](const TensorRow& e) -> Cell { return e.path; }},
    {"tensor", true, [](const TensorRow& e) -> Cell { return e.tensor.value_or(""); }},
    {"dtype", true, [](const TensorRow& e) -> Cell { return e.row.data_type; }},
    {"shape", true, [](const TensorRow& e) -> Cell { return to_string(e.row.shape); }},
    {"bytes", false, [](const TensorRow& e) -> Cell { return e.row.data_size_bytes; }},
    {"op_type", true, [](const TensorRow& e) -> Cell { return e.row.identity.op_type; }},
    {"op_name", true, [](const TensorRow& e) -> Cell { return e.row.identity.op_name; }},
    {"io", true, [](const TensorRow& e) -> Cell { return e.row.identity.io; }},
    {"slot", false, [](const TensorRow& e) -> Cell { return e.row.identity.slot; }},
    {"time", false, [](const TensorRow& e) -> Cell { return e.row.identity.timestamp_us; }},
    {"rank", false, [](const TensorRow& e) { return further(e, "rank"); }},
    {"graph", false, [](const TensorRow& e) { return further(e, "graph"); }},
    {"iteration", false, [](const TensorRow& e) { return further(e, "iteration"); }},
};

}  // namespace

Result<Subject> subject_from(std::string_view name) {
  if (const auto* fact = std::ranges::find(kFacts, name, &Fact::name); fact != std::end(kFacts)) return Subject(fact);
  const auto categories = categories_from(name);
  if (categories && categories->size() == 1) return Subject(categories->front());
  return Error{
      Code::kInvalid,
      in_quotes(name) + " is neither a statistic (`tensorstat explain` lists them) nor one of " + fact_names()};
}

std::string fact_names() {
  std::string names;
  for (const Fact& fact : kFacts) names.append(names.empty() ? "" : ", ").append(fact.name);
  return names;
}

std::string_view name_of(const Subject& subject) {
  const auto* category = std::get_if<Category>(&subject);
  return category ? name(*category) : std::get<const Fact*>(subject)->name;
}

bool is_text(const Subject& subject) {
  const auto* category = std::get_if<Category>(&subject);
  return category ? kind(*category) == ValueKind::kDigest || kind(*category) == ValueKind::kList
                  : std::get<const Fact*>(subject)->is_text;
}

Value number_of(const TensorRow& row, const Subject& subject) {
  if (const auto* category = std::get_if<Category>(&subject)) {
    const Value* const value = row.row.statistics.find(*category);
    return value ? *value : Value();
  }
  const Cell cell = std::get<const Fact*>(subject)->of(row);
  const auto* number = std::get_if<std::uint64_t>(&cell);
  return number ? Value(*number) : Value();
}

std::string text_of(const TensorRow& row, const Subject& subject) {
  if (std::holds_alternative<Category>(subject)) return to_string(number_of(row, subject));
  const Cell cell = std::get<const Fact*>(subject)->of(row);
  const auto* text = std::get_if<std::string>(&cell);
  return text ? *text : "";
}

}  // namespace tensorstat
