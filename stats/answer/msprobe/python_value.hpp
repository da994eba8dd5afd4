// Values of dump.json, printed as Python prints them: msprobe compares many of them as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tensorstat::msprobe {

// A cell of a table: str, bool, int or float. An int has at most 64 bits.
using PythonValue = std::variant<std::string, bool, std::int64_t, std::uint64_t, double>;

inline bool is_float(const PythonValue& value) { return std::holds_alternative<double>(value); }
inline bool is_int(const PythonValue& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<std::uint64_t>(value);
}
inline bool is_text(const PythonValue& value) { return std::holds_alternative<std::string>(value); }
double as_double(const PythonValue& number);  // the number must be an int or a float

// str(value): "1.0", "1e-05", "nan", "True".
std::string text_of(double number);
std::string text_of(const PythonValue& value);

// Whether a number, or a text such as " -inf", is not finite.
bool is_nan_or_inf(const PythonValue& value);

// a == b, as in Python: 1, 1.0 and True are equal; NaN does not equal itself.
bool are_equal(const PythonValue& a, const PythonValue& b);

// A JSON value: a Python value, a list or a dict.
struct PythonTree {
  enum class Kind : std::uint8_t { kNone, kValue, kList, kDict };
  Kind kind = Kind::kNone;
  PythonValue value = {};
  std::vector<std::pair<std::string, PythonTree>> members;  // the names are empty in a list

  // Not inline, and `members` has no initializer: clang 19 would want the complete type there.
  PythonTree();
  explicit PythonTree(Kind kind, PythonValue value = {});

  bool is_list() const { return kind == Kind::kList; }
  bool is_dict() const { return kind == Kind::kDict; }
  bool is_text() const { return kind == Kind::kValue && msprobe::is_text(value); }
  // Whether it is true in Python: not None, False, 0, "" or an empty list.
  bool is_true() const;
  // The member of a dict with this name, or nullptr. If several have it, the last one.
  const PythonTree* find(std::string_view name) const;
};

std::string text_of(const PythonTree& tree);  // str(tree): "[1, None, 'a']"

}  // namespace tensorstat::msprobe
