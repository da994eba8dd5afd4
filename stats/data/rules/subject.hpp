// The subjects of a rule: a row's statistics and facts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <variant>
#include <vector>

#include "stats/data/rows/tensor_row.hpp"

namespace tensorstat {

// The value of a fact. "some" is a number above 0 that is not known more exactly.
using FactValue = std::variant<Value, std::string>;

// A fact of a row, such as dtype or path.
struct Fact {
  enum class Kind : std::uint8_t { kText, kNumber, kCount };

  std::string_view name;
  Kind kind;
  FactValue (*value)(const TensorRow& row);  // an empty text or Value if the row does not have it
};

// A statistic of one side of a comparison: "max b".
struct OfSide {
  Category category;
  bool is_b;
  friend bool operator==(const OfSide&, const OfSide&) = default;
};

using Subject = std::variant<Category, const Fact*, OfSide>;

// Rows of tensors, or pairs of rows that were compared (TensorRow::paired).
enum class About : std::uint8_t { kTensors, kPairs };

// Finds a fact, or a statistic by a name that categories_from accepts. Of a pair: also a statistic of both
// (<tensorstat/pair.inc>); a statistic of one side is followed by a or b.
Result<Subject> subject_from(std::string_view name, About about = About::kTensors);

// "cosine,max-abs-diff": names between commas.
Result<std::vector<Subject>> subjects_from(std::string_view names, About about);

// "name, path, tensor, ...": the facts.
std::string fact_names(About about = About::kTensors);
// Every name that completions may offer.
std::vector<std::string> subject_names(About about);

// "nan count", "dtype", "max b"
std::string name_of(const Subject& subject);

// Whether its values are texts: some facts, digests and lists.
bool is_text(const Subject& subject);
// Whether it counts elements: then 0 is not worth a report.
bool is_count(const Subject& subject);

// The statistics that a tensor's row must have to answer. Other statistics can also decide the facts nan and inf.
Categories needed_by(const Subject& subject);
// Whether it is the fact nan or inf.
bool is_word(const Subject& subject);

// The row's value of a subject. A digest is a Value, although it is a text.
FactValue value_of(const TensorRow& row, const Subject& subject);
// The value of a numeric subject; monostate if the row has none. "some" is 1.
Value number_of(const TensorRow& row, const Subject& subject);
// The value of a text subject.
std::string text_of(const TensorRow& row, const Subject& subject);

}  // namespace tensorstat
