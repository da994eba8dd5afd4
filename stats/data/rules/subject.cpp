#include "stats/data/rules/subject.hpp"

#include <algorithm>

#include "stats/core/base/nearest_names.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rules/facts.hpp"

namespace tensorstat {
namespace {

// "max b" as max, of B.
std::optional<OfSide> side_from(std::string_view name) {
  const std::size_t cut = name.size() < 3 ? name.npos : name.size() - 2;
  if (cut == name.npos || std::string_view(" -_").find(name[cut]) == std::string_view::npos) return std::nullopt;
  const char side = name[cut + 1];
  const auto categories = categories_from(name.substr(0, cut));
  if ((side != 'a' && side != 'b') || !categories || categories->size() != 1) return std::nullopt;
  return OfSide{categories->front(), side == 'b'};
}

Error unknown(std::string_view name, About about) {
  const std::vector<std::string> all = subject_names(about);
  std::string near;
  for (const std::string& each : nearest_names(name, all)) near.append(near.empty() ? "" : ", ").append(each);
  return {Code::kInvalid, in_quotes(name) +
                              (about == About::kPairs ? " is no column of a comparison"
                                                      : " is neither a statistic nor a fact of a row") +
                              "; the nearest names are " + near};
}

const Value& statistic(const StatisticsView& statistics, Category category) {
  static const Value kNone;
  const Value* const value = statistics.find(category);
  return value ? *value : kNone;
}

}  // namespace

Result<Subject> subject_from(std::string_view name, About about) {
  if (const Fact* fact = fact_named(name, about)) return Subject(fact);
  const auto categories = categories_from(name);
  const bool is_statistic = categories && categories->size() == 1;
  if (about == About::kTensors) {
    if (is_statistic) return Subject(categories->front());
    return unknown(name, about);
  }
  if (const auto side = side_from(name)) return Subject(*side);
  if (!is_statistic) return unknown(name, about);
  const std::string its(tensorstat::name(categories->front()));
  return Error{Code::kInvalid, in_quotes(name) + " is of one side: write " + its + " a or " + its + " b"};
}

Result<std::vector<Subject>> subjects_from(std::string_view names, About about) {
  std::vector<Subject> subjects;
  for (std::string_view rest = names;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    auto subject = subject_from(rest.substr(0, comma), about);
    if (!subject) return subject.error();
    subjects.push_back(*subject);
    if (comma == rest.size()) return subjects;
    rest.remove_prefix(comma + 1);
  }
}

std::string fact_names(About about) {
  std::string names;
  for (const Fact& fact : facts_of(about)) names.append(names.empty() ? "" : ", ").append(fact.name);
  return names;
}

std::vector<std::string> subject_names(About about) {
  std::vector<std::string> names;
  for (const Fact& fact : facts_of(about)) names.emplace_back(fact.name);
  Categories all = every_category();
  const Categories quantiles = usual_quantiles();
  all.insert(all.end(), quantiles.begin(), quantiles.end());
  for (const Category category : all) {
    for (const char* side : {" a", " b"}) {
      names.push_back(std::string(name(category)) + (about == About::kPairs ? side : ""));
      if (about == About::kTensors) break;
    }
  }
  return names;
}

std::string name_of(const Subject& subject) {
  if (const auto* category = std::get_if<Category>(&subject)) return std::string(name(*category));
  if (const auto* side = std::get_if<OfSide>(&subject)) {
    return std::string(name(side->category)) + (side->is_b ? " b" : " a");
  }
  return std::string(std::get<const Fact*>(subject)->name);
}

bool is_text(const Subject& subject) {
  if (const auto* fact = std::get_if<const Fact*>(&subject)) return (*fact)->kind == Fact::Kind::kText;
  const auto* side = std::get_if<OfSide>(&subject);
  const ValueKind value_kind = kind(side ? side->category : std::get<Category>(subject));
  return value_kind == ValueKind::kDigest || value_kind == ValueKind::kList;
}

bool is_count(const Subject& subject) {
  if (const auto* fact = std::get_if<const Fact*>(&subject)) return (*fact)->kind == Fact::Kind::kCount;
  const auto* side = std::get_if<OfSide>(&subject);
  return kind(side ? side->category : std::get<Category>(subject)) == ValueKind::kCount;
}

bool is_word(const Subject& subject) {
  const auto* fact = std::get_if<const Fact*>(&subject);
  return fact != nullptr && ((*fact)->name == "nan" || (*fact)->name == "inf");
}

Categories needed_by(const Subject& subject) {
  if (const auto* category = std::get_if<Category>(&subject)) return {*category};
  if (!is_word(subject)) return {};
  if (std::get<const Fact*>(subject)->name == "nan") return {Category::kNanCount};
  return {Category::kNegativeInfCount, Category::kPositiveInfCount};
}

FactValue value_of(const TensorRow& row, const Subject& subject) {
  if (const auto* category = std::get_if<Category>(&subject)) return statistic(row.row.statistics, *category);
  if (const auto* fact = std::get_if<const Fact*>(&subject)) return (*fact)->value(row);
  const OfSide& side = std::get<OfSide>(subject);
  if (!side.is_b) return statistic(row.row.statistics, side.category);
  return row.paired ? statistic(row.paired->statistics, side.category) : Value();
}

Value number_of(const TensorRow& row, const Subject& subject) {
  const FactValue value = value_of(row, subject);
  if (const auto* number = std::get_if<Value>(&value)) return *number;
  return is_text(subject) || std::get<std::string>(value).empty() ? Value() : Value(std::uint64_t{1});
}

std::string text_of(const TensorRow& row, const Subject& subject) {
  const FactValue value = value_of(row, subject);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return to_string(std::get<Value>(value));
}

}  // namespace tensorstat
