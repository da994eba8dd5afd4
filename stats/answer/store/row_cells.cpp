#include "stats/answer/store/row_cells.hpp"

#include <bit>
#include <charconv>
#include <cmath>

#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/rows/dialect.hpp"

namespace tensorstat {
namespace {

// Whether a whole number that is read from a column of this statistic is signed.
bool reads_signed(Category category, ElementKind element) {
  return kind(category) == ValueKind::kElement && element == ElementKind::kSigned;
}

std::uint64_t number_of(std::string_view text) { return whole_number(text).value_or(0); }

}  // namespace

StoredCell cell_of(const Value& value, Category category, ElementKind element, std::vector<std::string>& texts) {
  using enum StoredCell::Content;
  if (std::holds_alternative<std::monostate>(value)) return {};
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isnan(*real)) return {kReal, std::bit_cast<std::uint64_t>(*real)};
    return {static_cast<std::uint32_t>(category) < kNanBits ? kNan : kExact, 0};
  }
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    return {*number <= INT64_MAX && !reads_signed(category, element) ? kInteger : kExact, *number};
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return {reads_signed(category, element) ? kInteger : kExact, static_cast<std::uint64_t>(*number)};
  }
  const std::uint64_t number = texts.size();
  if (const auto* digest = std::get_if<Digest>(&value)) {
    const auto bytes = digest->bytes();
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {kBytes, number};
  }
  texts.push_back(to_string(value));
  return {kText, number};
}

Value value_of_column(const Statement& row, int column, Category category, ElementKind element) {
  switch (row.type(column)) {
    case Statement::Type::kInteger:
      return reads_signed(category, element) ? Value(static_cast<std::int64_t>(row.number(column)))
                                             : row.number(column);
    case Statement::Type::kReal:
      return row.real(column);
    case Statement::Type::kBlob:
      return row.blob(column).size() <= 20 ? Value(Digest(row.blob(column))) : Value();  // a Digest has no more
    case Statement::Type::kText: {
      const auto counts = Exponents::from(row.text(column));
      return counts ? Value(*counts) : Value();
    }
    default:
      return {};
  }
}

std::string exact_type(const Value& value) {
  constexpr const char* kTypes[] = {"", "u", "i", "d", "x", "e"};
  return kTypes[value.index()];
}

Value value_of_exact(std::string_view type, std::string_view text) {
  if (type == "x") {
    const auto digest = Digest::from(text);
    return digest ? Value(*digest) : Value();
  }
  if (type == "e") {
    const auto counts = Exponents::from(text);
    return counts ? Value(*counts) : Value();
  }
  const auto read = [&]<typename Number>(Number number) -> Value {
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  };
  if (type == "u") return read(std::uint64_t{0});
  if (type == "i") return read(std::int64_t{0});
  return type == "d" ? read(0.0) : Value();
}

Categories categories_of_names(std::string_view names) {
  Categories categories;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (const auto category = category_from(names.substr(0, end))) categories.push_back(*category);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return categories;
}

std::vector<std::string> columns_of_names(std::string_view names) {
  std::vector<std::string> columns;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    columns.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return columns;
}

std::string text_of_shape(const Shape& shape) {
  std::string text = "(";
  for (const std::uint64_t dimension : shape) text += (text.size() > 1 ? "," : "") + std::to_string(dimension);
  return text + ")";
}

Shape shape_of_text(std::string_view text) { return shape_from(text, value_of(Dialect::kOurs)).value_or(Shape()); }

// A line for each cell: "rank n 3", or "path t 11 deep/a/path". 11 is the length of the text, which may hold any byte.
std::string text_of_cells(const std::vector<std::pair<std::string, Cell>>& cells) {
  std::string text;
  for (const auto& [name, cell] : cells) {
    if (const auto* number = std::get_if<std::uint64_t>(&cell)) {
      text += name + " n " + std::to_string(*number) + "\n";
    } else {
      const auto& words = std::get<std::string>(cell);
      text += name + " t " + std::to_string(words.size()) + " " + words + "\n";
    }
  }
  return text;
}

std::vector<std::pair<std::string, Cell>> cells_of_text(std::string_view text) {
  std::vector<std::pair<std::string, Cell>> cells;
  const auto take = [&](char end) {
    const std::size_t length = std::min(text.find(end), text.size());
    const std::string_view word = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    return word;
  };
  while (!text.empty()) {
    std::string name(take(' '));
    if (take(' ') == "n") {
      cells.emplace_back(std::move(name), number_of(take('\n')));
      continue;
    }
    const std::size_t size = std::min<std::uint64_t>(number_of(take(' ')), text.size());
    cells.emplace_back(std::move(name), std::string(text.substr(0, size)));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return cells;
}

}  // namespace tensorstat
