// Reads the rows of a statistic.csv of any dialect: the heading and the first row show which it is.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/csv/growing_rows.hpp"
#include "stats/data/text/next_piece.hpp"

namespace tensorstat {

struct CsvSource {
  std::string where;               // the file's name for messages
  std::string_view text = {};      // the whole text, or its beginning
  NextPiece next_piece = {};       // the text behind it; may be empty
  Identity of_file = {};           // from the name of the file, for dialects that have none in their rows
  GrowingRows* growing = nullptr;  // an unfinished last line is not a fault; updated before each row is handed out
};

// `read` is filled even if there is an error.
Status read_statistic_csv(CsvSource source, const EachRow& each, RowsRead& read);

}  // namespace tensorstat
