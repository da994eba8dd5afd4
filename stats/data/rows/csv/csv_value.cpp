#include "stats/data/rows/csv/csv_value.hpp"

#include <algorithm>
#include <charconv>

namespace tensorstat {
namespace {

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return number;
}

template <typename T>
std::optional<Value> as_value(const std::optional<T>& value) {
  return value ? std::optional<Value>(*value) : std::nullopt;
}

std::optional<Value> element_from(std::string_view text, ElementKind element) {
  if (element == ElementKind::kReal) return std::nullopt;
  if (text == "True" || text == "False") return Value{std::uint64_t{text == "True"}};
  if (element == ElementKind::kSigned) return as_value(number_in<std::int64_t>(text));
  return as_value(number_in<std::uint64_t>(text));
}

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view text) { return number_in<std::uint64_t>(text); }

namespace {

std::optional<Shape> shape_from(std::string_view text, const ShapeText& marks) {
  if (text == marks.none) return Shape{};
  const bool has_ends = text.size() >= marks.open.size() + marks.close.size() && text.starts_with(marks.open) &&
                        text.ends_with(marks.close);
  if (!has_ends) return std::nullopt;
  text = text.substr(marks.open.size(), text.size() - marks.open.size() - marks.close.size());
  Shape shape;
  while (true) {
    const auto end = std::min(text.find(marks.between), text.size());
    const auto dimension = whole_number(text.substr(0, end));
    if (!dimension) return std::nullopt;
    shape.push_back(*dimension);
    if (end == text.size()) return shape;
    text.remove_prefix(end + marks.between.size());
  }
}

}  // namespace

std::optional<Shape> shape_from(std::string_view text, const CsvDialect& dialect) {
  for (const auto& marks : dialect.shapes) {
    if (auto shape = shape_from(text, marks)) return shape;
  }
  return std::nullopt;
}

std::string_view data_type_from(std::string_view text, const CsvDialect& dialect) {
  const std::string_view word = text.starts_with(kDtypePrefix) ? text.substr(kDtypePrefix.size()) : text;
  for (const auto& known : dialect.dtypes) {
    if (known.word == word) return known.name;
  }
  return text;
}

ElementKind element_kind(std::string_view data_type) {
  const auto dtype = dtype_from(data_type);
  if (dtype && is_float(*dtype)) return ElementKind::kReal;
  if (data_type.starts_with("int")) return ElementKind::kSigned;
  return dtype || data_type.starts_with("uint") ? ElementKind::kUnsigned : ElementKind::kReal;
}

std::optional<Value> value_from(std::string_view text, ValueKind kind, ElementKind element, const CsvDialect& dialect) {
  if (text.empty() || text == dialect.missing) return std::optional<Value>(std::in_place);
  if (kind == ValueKind::kDigest) return as_value(Digest::from(text));
  if (kind == ValueKind::kList) return as_value(Exponents::from(text));
  if (kind == ValueKind::kCount || kind == ValueKind::kIndex) return as_value(whole_number(text));
  if (kind == ValueKind::kElement || kind == ValueKind::kSize) {
    const bool is_unsigned = kind == ValueKind::kSize && element == ElementKind::kSigned;
    if (auto value = element_from(text, is_unsigned ? ElementKind::kUnsigned : element)) return value;
  }
  if (text == "-nan") text.remove_prefix(1);
  return as_value(number_in<double>(text));
}

}  // namespace tensorstat
