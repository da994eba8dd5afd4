// Lines of a csv: cut into fields, and made of fields.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "stats/data/rows/dialect.hpp"

namespace tensorstat {

// The fields of one line. Views of the text that was cut, or of `unquoted`, where a quote in a field is doubled.
struct Fields {
  std::vector<std::string_view> views;
  std::deque<std::string> unquoted;
  std::size_t bytes = 0;          // of the text that the line takes, with its end
  std::uint64_t line_breaks = 0;  // in it: a quoted field may hold some
};

struct CutFault {
  std::string_view what = {};    // the fault; empty: the line is right
  bool wants_more_text = false;  // the text ends inside of the line
};

inline constexpr std::string_view kUnendedLine = "the last line does not end: it may be cut off";

// One record of RFC 4180, at the beginning of `text`.
CutFault cut_record(std::string_view text, Fields& fields);

// A row cut at each of its commas, whatever their number.
CutFault cut_at_commas(std::string_view text, Fields& fields);

// One row of a dialect in which nothing is escaped, so that op_name may hold commas and quotes: it is what remains when
// the other fields are taken from both ends.
CutFault cut_bare_row(std::string_view text, std::size_t field_count, const CsvDialect& dialect, Fields& fields);

// Adds a field as RFC 4180 has it: in quotes where it needs them.
void append_field(std::string& line, std::string_view text);

// A text cell that a spreadsheet would run gets a ' in front: behind any ' and blanks it begins with = + - @, plain or
// full-width, TAB, CR or LF, and goes on. A ' more does not change that, so the reader may take one off.
bool wants_apostrophe(std::string_view text);

}  // namespace tensorstat
