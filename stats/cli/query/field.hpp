// What a tensor can be asked about by name: its statistics, and the facts of its row.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <variant>

#include "stats/survey/survey.hpp"

namespace tensorstat::cli {

// A fact beside the statistics, such as dtype or path.
struct Fact {
  std::string_view name;
  bool is_text;
  Cell (*of)(const Entry& entry);  // an empty text where the row does not say
};

using Field = std::variant<Category, const Fact*>;

// By the name of a statistic, as categories_from takes it, or of a fact.
Result<Field> field_from(std::string_view name);

// "name, path, tensor, ...": the facts.
std::string fact_names();

// Whether its values are texts: of a fact that is one, and of a digest.
bool is_text(const Field& field);

// A number, or monostate where there is none. Of a statistic that was measured.
Value number_of(const Entry& entry, const Field& field);
// Of a field that is a text.
std::string text_of(const Entry& entry, const Field& field);

}  // namespace tensorstat::cli
