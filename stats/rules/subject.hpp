// What a rule may ask of a row by name: its statistics, and the facts beside them.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <variant>

#include "stats/rows/tensor_row.hpp"

namespace tensorstat {

// Such as dtype or path.
struct Fact {
  std::string_view name;
  bool is_text;
  Cell (*of)(const TensorRow& row);  // an empty text where the row does not say
};

using Subject = std::variant<Category, const Fact*>;

// By the name of a statistic, as categories_from takes it, or of a fact.
Result<Subject> subject_from(std::string_view name);

// "name, path, tensor, ...": the facts.
std::string fact_names();

// "nan count", "dtype"
std::string_view name_of(const Subject& subject);

// Whether its values are texts: those of some facts, of digests and of lists.
bool is_text(const Subject& subject);

// The value where it is a number: monostate where the row has none.
Value number_of(const TensorRow& row, const Subject& subject);
// The value where it is a text.
std::string text_of(const TensorRow& row, const Subject& subject);

}  // namespace tensorstat
