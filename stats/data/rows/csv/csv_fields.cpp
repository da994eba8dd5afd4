#include "stats/data/rows/csv/csv_fields.hpp"

#include <algorithm>
#include <optional>

#include "stats/data/files/io/text_lines.hpp"

namespace tensorstat {
namespace {

constexpr CutFault kCutOff{kUnendedLine, true};

// The line that the text begins with; nothing where it does not end.
std::optional<std::string_view> whole_line(std::string_view text, Fields& fields) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  fields.bytes = end + 1;
  fields.line_breaks = 1;
  return take_line(text);
}

bool ends_plain_field(char c) { return c == ',' || c == '\n' || c == '"'; }

// The quoted field that opens at `position`, without its quotes. Moves `position` behind the closing quote, or to npos.
std::string_view take_quoted(std::string_view text, std::size_t& position, Fields& fields) {
  const std::size_t begin = ++position;
  std::string* unquoted = nullptr;
  std::size_t from = begin;  // what `unquoted` does not have yet
  for (;; position += 2) {
    position = text.find('"', position);
    if (position == text.npos) return {};
    const std::size_t length = position - from;
    if (position + 1 == text.size() || text[position + 1] != '"') {
      ++position;
      fields.line_breaks += std::count(text.begin() + begin, text.begin() + position, '\n');
      if (unquoted == nullptr) return text.substr(begin, length);
      return unquoted->append(text, from, length);
    }
    if (unquoted == nullptr) unquoted = &fields.unquoted.emplace_back();
    unquoted->append(text, from, length + 1);
    from = position + 2;
  }
}

}  // namespace

CutFault cut_record(std::string_view text, Fields& fields) {
  fields.views.clear();
  fields.unquoted.clear();
  fields.line_breaks = 0;
  for (std::size_t position = 0;; ++position) {
    const bool is_quoted = position < text.size() && text[position] == '"';
    if (is_quoted) {
      fields.views.push_back(take_quoted(text, position, fields));
      if (position == text.npos) return {"a quote is opened and never closed", true};
    } else {
      const std::size_t begin = position;
      while (position < text.size() && !ends_plain_field(text[position])) ++position;
      fields.views.push_back(text.substr(begin, position - begin));
    }
    if (position == text.size()) return kCutOff;
    if (text[position] == '"') return {"a quote inside a field that does not begin with one"};
    if (text[position] == ',') continue;
    if (is_quoted && text.substr(position, 2) == "\r\n") ++position;
    if (text[position] != '\n') {
      if (position + 1 == text.size()) return kCutOff;
      return {"a character between a closing quote and the next comma"};
    }
    if (!is_quoted && fields.views.back().ends_with('\r')) fields.views.back().remove_suffix(1);
    ++fields.line_breaks;
    fields.bytes = position + 1;
    return {};
  }
}

CutFault cut_at_commas(std::string_view text, Fields& fields) {
  const auto whole = whole_line(text, fields);
  if (!whole) return kCutOff;
  std::string_view line = *whole;
  fields.views.clear();
  for (std::size_t comma; (comma = line.find(',')) != line.npos; line.remove_prefix(comma + 1)) {
    fields.views.push_back(line.substr(0, comma));
  }
  fields.views.push_back(line);
  return {};
}

CutFault cut_bare_row(std::string_view text, std::size_t field_count, const CsvDialect& dialect, Fields& fields) {
  const auto whole = whole_line(text, fields);
  if (!whole) return kCutOff;
  std::string_view line = *whole;
  const std::string_view row_end = dialect.row_end.substr(0, dialect.row_end.size() - 1);
  if (!line.ends_with(row_end)) return {"a row without the comma at its end"};
  line.remove_suffix(row_end.size());

  constexpr CutFault kTooFew{"fewer fields than the heading has"};
  fields.views.assign(field_count, {});
  const auto position_of = [&](const Column* column) {
    return static_cast<std::size_t>(std::ranges::find(dialect.columns, column, &CsvDialect::Headed::column) -
                                    dialect.columns.begin());
  };
  const std::size_t free = position_of(column_named("op_name")), shape = position_of(column_named("shape"));
  std::size_t first = 0;
  for (; first < std::min(free, field_count - 1); ++first) {
    const std::size_t comma = line.find(',');
    if (comma == line.npos) return kTooFew;
    fields.views[first] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  for (std::size_t i = field_count - 1; i > first; --i) {
    if (i == shape && dialect.quotes == Quotes::kShapeOnly) {
      const auto open = line.size() < 2 ? line.npos : line.rfind('"', line.size() - 2);
      if (open == line.npos || open == 0 || line.back() != '"' || line[open - 1] != ',') {
        return {"fewer or more fields than the heading has, or a Shape without quotes"};
      }
      fields.views[i] = line.substr(open + 1, line.size() - open - 2);
      line = line.substr(0, open - 1);
      continue;
    }
    // (2,3), without quotes, begins where it opens.
    const std::size_t behind = i == shape && line.ends_with(')') ? line.rfind('(') : line.npos;
    const std::size_t comma = line.rfind(',', behind);
    if (comma == line.npos) return kTooFew;
    fields.views[i] = line.substr(comma + 1);
    line = line.substr(0, comma);
  }
  fields.views[first] = line;
  return {};
}

void append_field(std::string& line, std::string_view text) {
  const auto is_mark = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  if (std::ranges::none_of(text, is_mark)) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

bool wants_apostrophe(std::string_view text) {
  // The last four are full-width, which spreadsheets take for the plain ones.
  constexpr std::string_view kBeginnings[] = {"=",  "+",      "-",      "@",      "\t",    "\r",
                                              "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  text.remove_prefix(std::min(text.find_first_not_of("' "), text.size()));
  return std::ranges::any_of(kBeginnings, [&](std::string_view each) {
    return text.starts_with(each) && text.size() > each.size();  // a sign alone is not a formula
  });
}

}  // namespace tensorstat
