#include "stats/answer/msprobe/python_value.hpp"

#include <algorithm>
#include <cmath>

#include "stats/data/json/json_writer.hpp"

namespace tensorstat::msprobe {
namespace {

// repr of a str: in single quotes, unless the text has single quotes and no double ones.
std::string text_repr(std::string_view text) {
  const bool has_single = text.find('\'') != text.npos, has_double = text.find('"') != text.npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  std::string shown(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      shown += '\\';
      shown += c;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      shown += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kDigits[] = "0123456789abcdef";
      shown += "\\x";
      shown += kDigits[byte / 16];
      shown += kDigits[byte % 16];
    } else {
      shown += c;
    }
  }
  return shown + quote;
}

std::string repr_of(const PythonTree& tree) {
  return tree.is_text() ? text_repr(std::get<std::string>(tree.value)) : text_of(tree);
}

}  // namespace

double as_double(const PythonValue& number) {
  if (const auto* real = std::get_if<double>(&number)) return *real;
  if (const auto* natural = std::get_if<std::uint64_t>(&number)) return static_cast<double>(*natural);
  return static_cast<double>(std::get<std::int64_t>(number));
}

std::string text_of(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return python_repr(number);
}

std::string text_of(const PythonValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) return std::to_string(*natural);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  return text_of(std::get<double>(value));
}

bool is_nan_or_inf(const PythonValue& value) {
  if (const auto* real = std::get_if<double>(&value)) return !std::isfinite(*real);
  if (!is_text(value)) return false;
  std::string word = std::get<std::string>(value);
  const auto first = word.find_first_not_of(" \t\n"), last = word.find_last_not_of(" \t\n");
  word = first == word.npos ? "" : word.substr(first, last - first + 1);
  std::ranges::transform(word, word.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return word == "inf" || word == "-inf" || word == "nan";
}

bool are_equal(const PythonValue& a, const PythonValue& b) {
  if (is_text(a) || is_text(b)) return is_text(a) && is_text(b) && std::get<std::string>(a) == std::get<std::string>(b);
  if (is_int(a) && is_int(b)) return text_of(a) == text_of(b);
  const auto number = [](const PythonValue& value) {
    const auto* truth = std::get_if<bool>(&value);
    return truth ? static_cast<double>(*truth) : as_double(value);
  };
  return number(a) == number(b);
}

bool PythonTree::is_true() const {
  switch (kind) {
    case Kind::kNone:
      return false;
    case Kind::kList:
    case Kind::kDict:
      return !members.empty();
    case Kind::kValue:
      break;
  }
  if (const auto* text = std::get_if<std::string>(&value)) return !text->empty();
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  return as_double(value) != 0;
}

PythonTree::PythonTree() = default;

PythonTree::PythonTree(Kind kind, PythonValue value) : kind(kind), value(std::move(value)) {}

const PythonTree* PythonTree::find(std::string_view name) const {
  if (kind != Kind::kDict) return nullptr;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

std::string text_of(const PythonTree& tree) {
  switch (tree.kind) {
    case PythonTree::Kind::kNone:
      return "None";
    case PythonTree::Kind::kValue:
      return text_of(tree.value);
    case PythonTree::Kind::kList:
    case PythonTree::Kind::kDict:
      break;
  }
  std::string text(1, tree.is_list() ? '[' : '{');
  for (const auto& [name, member] : tree.members) {
    if (text.size() > 1) text += ", ";
    if (tree.is_dict()) text += text_repr(name) + ": ";
    text += repr_of(member);
  }
  return text + (tree.is_list() ? ']' : '}');
}

}  // namespace tensorstat::msprobe
