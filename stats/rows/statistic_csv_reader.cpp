#include <algorithm>
#include <charconv>

#include "stats/files/shown.hpp"
#include "stats/rows/statistic_csv.hpp"

namespace tensorstat {
namespace {

using Fields = std::vector<std::string>;

constexpr std::size_t kIdentityFields = 10;

// The whole text as one number.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return number;
}

// Cuts one record of RFC 4180 off the front of `text`. Says what is wrong, or nothing.
std::string_view take_record(std::string_view& text, Fields& fields, std::uint64_t& line_breaks) {
  fields.assign(1, {});
  line_breaks = 0;
  std::size_t at = 0;
  while (true) {
    const bool quoted = at < text.size() && text[at] == '"';
    if (quoted) {
      for (++at;; ++at) {
        if (at == text.size()) return "a quote is opened and never closed";
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        if (text[at] == '\n') ++line_breaks;
        fields.back() += text[at];
      }
      ++at;
    } else {
      const auto end = std::min(text.find_first_of(",\"\n", at), text.size());
      fields.back() = text.substr(at, end - at);
      at = end;
    }
    if (at == text.size()) return "the last line does not end: it may be cut off";
    if (text[at] == '"') return "a quote inside a field that does not begin with one";
    if (text[at] == ',') {
      fields.emplace_back();
      ++at;
      continue;
    }
    if (quoted && text.substr(at, 2) == "\r\n") ++at;
    if (text[at] != '\n') return "a character between a closing quote and the next comma";
    if (!quoted && !fields.back().empty() && fields.back().back() == '\r') fields.back().pop_back();
    ++line_breaks;
    text.remove_prefix(at + 1);
    return {};
  }
}

// Cuts one row of MindSpore off the front of `text`. Nothing is escaped there, so an operator name
// may hold commas and quotes: it is what remains when the fields are taken from both ends.
std::string_view take_mindspore_row(std::string_view& text, std::size_t field_count,
                                    Fields& fields) {
  const auto end = text.find('\n');
  if (end == text.npos) return "the last line does not end: it may be cut off";
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.ends_with(',')) return "a row without the comma that MindSpore puts at its end";
  line.remove_suffix(1);

  constexpr std::string_view kTooFew = "fewer fields than the heading has";
  fields.assign(field_count, {});
  for (std::size_t i = field_count; --i > 1;) {
    auto from = line.rfind(',');
    if (i == kIdentityFields - 1) {  // Shape, the only quoted field
      const auto open = line.size() < 2 ? line.npos : line.rfind('"', line.size() - 2);
      if (open == line.npos || open == 0 || line.back() != '"' || line[open - 1] != ',') {
        return "fewer or more fields than the heading has, or a Shape without quotes";
      }
      fields[i] = line.substr(open + 1, line.size() - open - 2);
      line = line.substr(0, open - 1);
      continue;
    }
    if (from == line.npos) return kTooFew;
    fields[i] = line.substr(from + 1);
    line = line.substr(0, from);
  }
  const auto comma = line.find(',');
  if (comma == line.npos) return kTooFew;
  fields[0] = line.substr(0, comma);
  fields[1] = line.substr(comma + 1);
  return {};
}

void take_apostrophe_off(std::string& text) {
  const auto first = text.find_first_not_of('\'');
  if (first == text.npos || first == 0) return;
  if (std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos) text.erase(0, 1);
}

bool read_shape(std::string_view text, char open, char close, Shape& shape) {
  if (text.size() < 2 || text.front() != open || text.back() != close) return false;
  text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const auto dimension = number_in<std::uint64_t>(text.substr(0, comma));
    if (!dimension || comma + 1 == text.size()) return false;
    shape.push_back(*dimension);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

std::optional<Value> read_digest(std::string_view text) {
  const auto digest = Digest::from(text);
  return digest ? std::optional<Value>(*digest) : std::nullopt;
}

std::optional<Value> read_integer(std::string_view text, bool is_signed) {
  if (is_signed) {
    if (const auto number = number_in<std::int64_t>(text)) return Value{*number};
  } else if (const auto number = number_in<std::uint64_t>(text)) {
    return Value{*number};
  }
  return std::nullopt;
}

std::optional<Value> read_value(std::string_view text, Category category,
                                std::string_view data_type) {
  if (text.empty() || text == "null") return std::optional<Value>(std::in_place);
  const ValueKind held = kind(category);
  if (held == ValueKind::kDigest) return read_digest(text);
  if (held == ValueKind::kCount) return read_integer(text, false);
  if (held != ValueKind::kReal && data_type.find("float") == data_type.npos) {
    if (text == "True" || text == "False") return Value{std::uint64_t{text == "True"}};
    const bool is_signed = held == ValueKind::kElement && data_type.starts_with("int");
    if (auto integer = read_integer(text, is_signed)) return integer;
  }
  if (text == "-nan") text.remove_prefix(1);
  const auto real = number_in<double>(text);
  return real ? std::optional<Value>(*real) : std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, const std::function<void(Row&&)>& each)
      : text_(text), each_(each) {}

  Result<CsvContent> run() {
    if (!read_header()) return failure();
    while (!text_.empty()) {
      Row row;
      if (!cut_row() || !interpret(row)) return failure();
      ++content_.row_count;
      line_ += line_breaks_;
      each_(std::move(row));
    }
    return content_;
  }

 private:
  Error failure() const {
    return {Code::kUnreadable, "statistic.csv, line " + std::to_string(line_) + ": " + what_};
  }

  bool fail(std::string what) {
    what_ = std::move(what);
    return false;
  }

  bool read_header() {
    if (const auto fault = take_record(text_, fields_, line_breaks_); !fault.empty()) {
      return fail(std::string(fault));
    }
    line_ += line_breaks_;
    const std::string known = csv_header({}, Dialect::kOurs);
    std::string identity;
    for (std::size_t i = 0; i < fields_.size() && i < kIdentityFields; ++i) {
      identity += (i == 0 ? "" : ",") + fields_[i];
    }
    line_ = 1;
    if (identity + '\n' != known) {
      return fail("the heading must begin with " + known.substr(0, known.size() - 1));
    }
    for (std::size_t i = kIdentityFields; i < fields_.size(); ++i) {
      // 2.3.0-rc spelled it so for a while.
      const std::string& heading = fields_[i] == "Nan Count" ? "NaN Count" : fields_[i];
      const auto category = category_of(heading);
      if (!category) return fail("no statistic has the column \"" + shown(heading) + "\"");
      content_.categories.push_back(*category);
    }
    line_ += line_breaks_;
    return true;
  }

  static std::optional<Category> category_of(std::string_view heading) {
    for (const Category category : every_category()) {
      if (column(category) == heading) return category;
    }
    return std::nullopt;
  }

  // The first row tells which dialect it is, and the others have to follow.
  bool cut_row() {
    const auto field_count = kIdentityFields + content_.categories.size();
    if (content_.dialect.value_or(Dialect::kOurs) == Dialect::kOurs) {
      std::string_view rest = text_;
      const auto fault = take_record(rest, fields_, line_breaks_);
      if (fault.empty() && fields_.size() == field_count) {
        text_ = rest;
        content_.dialect = Dialect::kOurs;
        return true;
      }
      const auto line = text_.substr(0, text_.find('\n'));
      if (content_.dialect || !(line.ends_with(",") || line.ends_with(",\r"))) {
        return fail(!fault.empty()
                        ? std::string(fault)
                        : std::to_string(fields_.size()) + " fields where the heading has " +
                              std::to_string(field_count));
      }
    }
    const auto fault = take_mindspore_row(text_, field_count, fields_);
    line_breaks_ = 1;
    if (!fault.empty()) return fail(std::string(fault));
    const auto dialect =
        fields_[9].starts_with('[') ? Dialect::kMindsporeNext : Dialect::kMindspore27;
    if (content_.dialect.value_or(dialect) != dialect) {
      return fail("this row is of " + std::string(name(dialect)) + ", those before it of " +
                  std::string(name(*content_.dialect)));
    }
    content_.dialect = dialect;
    return true;
  }

  bool number(std::size_t field, std::string_view heading, std::uint64_t& into) {
    const auto number = number_in<std::uint64_t>(fields_[field]);
    if (!number) {
      return fail(std::string(heading) + " is \"" + shown(fields_[field]) +
                  "\", not a whole number");
    }
    into = *number;
    return true;
  }

  bool interpret(Row& row) {
    Identity& who = row.identity;
    if (content_.dialect == Dialect::kOurs) {
      for (const std::size_t text : {0, 1, 5, 8}) take_apostrophe_off(fields_[text]);
    }
    who.op_type = fields_[0];
    who.op_name = fields_[1];
    who.io = fields_[5];
    row.data_type = fields_[8];
    if (!number(2, "Task ID", who.task_id) || !number(3, "Stream ID", who.stream_id) ||
        !number(4, "Timestamp", who.timestamp_us) || !number(6, "Slot", who.slot) ||
        !number(7, "Data Size", row.data_size_bytes)) {
      return false;
    }
    if (who.io != "input" && who.io != "output") {
      return fail("IO is \"" + shown(who.io) + "\", neither input nor output");
    }
    const bool next = content_.dialect == Dialect::kMindsporeNext;
    if (!read_shape(fields_[9], next ? '[' : '(', next ? ']' : ')', row.shape)) {
      return fail("Shape is \"" + shown(fields_[9]) + "\", not like " + (next ? "[2,3]" : "(2,3)"));
    }
    row.statistics.categories = content_.categories;
    for (std::size_t i = 0; i < content_.categories.size(); ++i) {
      const std::string& text = fields_[kIdentityFields + i];
      auto value = read_value(text, content_.categories[i], row.data_type);
      if (!value) {
        return fail(std::string(column(content_.categories[i])) + " is \"" + shown(text) + "\"");
      }
      row.statistics.values.push_back(*std::move(value));
    }
    return true;
  }

  std::string_view text_;
  const std::function<void(Row&&)>& each_;
  CsvContent content_;
  Fields fields_;
  std::uint64_t line_ = 1, line_breaks_ = 0;
  std::string what_;
};

}  // namespace

Result<CsvContent> read_csv(std::string_view text, const std::function<void(Row&&)>& each) {
  return Reader(text, each).run();
}

}  // namespace tensorstat
