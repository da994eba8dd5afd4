#include "stats/rows/statistic_csv.hpp"

#include <charconv>
#include <cmath>

#include "stats/rows/op_name.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kIdentityColumns =
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape";

void append_number(std::string& line, std::uint64_t number) {
  char digits[24];
  line.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// What operator<< of a double writes in the "C" locale, which is %g. The sign of a NaN is that of
// the processor (`-nan` on x86) and no property of the tensor; it is left out.
void append_general(std::string& line, double value) {
  if (std::isnan(value)) {
    line += "nan";
    return;
  }
  char digits[32];
  line.append(
      digits,
      std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr);
}

bool runs_as_formula(char c) {
  return c == '=' || c == '+' || c == '-' || c == '@' || c == '\t' || c == '\r';
}

// A text that already is some ' and then a formula gets one more, so that the reader may take one
// off whenever it sees this form.
bool needs_apostrophe(std::string_view text) {
  const auto first = text.find_first_not_of('\'');
  return first != text.npos && runs_as_formula(text[first]);
}

void append_our_text(std::string& line, std::string_view text) {
  const bool quoted = text.find_first_of(",\"\r\n") != text.npos;
  if (quoted) line += '"';
  if (needs_apostrophe(text)) line += '\'';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  if (quoted) line += '"';
}

void append_their_text(std::string& line, std::string_view text) {
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    line += code < 0x20 || code == 0x7f ? '_' : c;
  }
}

void append_text(std::string& line, std::string_view text, Dialect dialect) {
  if (dialect == Dialect::kOurs) {
    append_our_text(line, text);
  } else {
    append_their_text(line, text);
  }
}

// MindSpore holds all others as doubles whatever the dtype; counts and digests it prints as they are,
// and a digest that does not exist as nothing.
bool is_double_in_mindspore(Category category) {
  return kind(category) != ValueKind::kCount && kind(category) != ValueKind::kDigest;
}

void append_their_value(std::string& line, Category category, const Value& value) {
  if (!is_double_in_mindspore(category)) {
    line += to_string(value);
  } else if (std::holds_alternative<std::monostate>(value)) {
    line += "null";
  } else if (const auto* real = std::get_if<double>(&value)) {
    append_general(line, *real);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
    append_general(line, static_cast<double>(*natural));
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    append_general(line, static_cast<double>(*integer));
  }
}

}  // namespace

std::string_view name(Dialect dialect) {
  switch (dialect) {
    case Dialect::kMindspore27:
      return "mindspore-2.7";
    case Dialect::kMindsporeNext:
      return "mindspore-next";
    case Dialect::kOurs:
      break;
  }
  return "ours";
}

std::optional<Dialect> dialect_from(std::string_view text) {
  for (const auto dialect : {Dialect::kOurs, Dialect::kMindspore27, Dialect::kMindsporeNext}) {
    if (text == name(dialect)) return dialect;
  }
  return std::nullopt;
}

std::string csv_header(const Categories& categories, Dialect) {
  std::string line(kIdentityColumns);
  for (const Category category : categories) {
    line += ',';
    line += column(category);
  }
  line += '\n';
  return line;
}

std::string csv_row(const Row& row, Dialect dialect) {
  const Identity& who = row.identity;
  std::string line;
  line.reserve(160 + who.op_name.size() + 24 * row.statistics.categories.size());
  append_text(line, who.op_type, dialect);
  line += ',';
  append_text(line, dialect == Dialect::kMindspore27 ? escaped_op_name(who.op_name) : who.op_name,
              dialect);
  for (const auto number : {who.task_id, who.stream_id, who.timestamp_us}) {
    line += ',';
    append_number(line, number);
  }
  line += ',';
  append_text(line, who.io, dialect);
  for (const auto number : {who.slot, row.data_size_bytes}) {
    line += ',';
    append_number(line, number);
  }
  line += ',';
  append_text(line, row.data_type, dialect);
  line += dialect == Dialect::kMindsporeNext ? ",\"[" : ",\"(";
  for (std::size_t i = 0; i < row.shape.size(); ++i) {
    if (i != 0) line += ',';
    append_number(line, row.shape[i]);
  }
  line += dialect == Dialect::kMindsporeNext ? "]\"" : ")\"";
  for (std::size_t i = 0; i < row.statistics.categories.size(); ++i) {
    line += ',';
    const Value& value = row.statistics.values[i];
    if (dialect == Dialect::kOurs) {
      line += to_string(value);
    } else {
      append_their_value(line, row.statistics.categories[i], value);
    }
  }
  line += dialect == Dialect::kOurs ? "\n" : ",\n";
  return line;
}

}  // namespace tensorstat
