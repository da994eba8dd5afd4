// Reads the rows of a file of any kind: a csv of any dialect, a dump.json, what a monitor wrote, or a store. What it
// begins with tells.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/csv/growing_rows.hpp"
#include "stats/data/rows/dump_json/dump_json.hpp"

namespace tensorstat {

// As read_rows_of_file(), and passes the calls of a dump.json to `listener`. Other files have no calls.
Result<RowsRead> read_calls_of_file(const std::string& path, const EachRow& each, const CallListener& listener);

// As read_rows_of_file(), for the rows of a csv behind `so_far`, which it brings forward before each row is handed out.
// A last line without its end is left for the next call, and so is a heading without its end.
Result<RowsRead> read_growing_rows(const std::string& path, GrowingRows& so_far, const EachRow& each);

// The statistics and columns of a file's rows. A csv is read to its first row, a dump.json to its end. An error only if
// it comes before the first row.
Result<RowsRead> read_columns(const std::string& path);

}  // namespace tensorstat
