// What a rule can name: a row's statistics and facts.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <variant>

#include "stats/rows/tensor_row.hpp"

namespace tensorstat {

// A fact of a row, such as dtype or path.
struct Fact {
  std::string_view name;
  bool is_text;
  Cell (*of)(const TensorRow& row);  // an empty text if the row does not have it
};

using Subject = std::variant<Category, const Fact*>;

// Finds a statistic, by a name that categories_from accepts, or a fact.
Result<Subject> subject_from(std::string_view name);

// "name, path, tensor, ...": the facts.
std::string fact_names();

// "nan count", "dtype"
std::string_view name_of(const Subject& subject);

// Whether its values are texts: some facts, digests and lists.
bool is_text(const Subject& subject);

// The value of a numeric subject; monostate if the row has none.
Value number_of(const TensorRow& row, const Subject& subject);
// The value of a text subject.
std::string text_of(const TensorRow& row, const Subject& subject);

}  // namespace tensorstat
