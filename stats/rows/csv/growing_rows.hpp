// Reads a file of rows that somebody is still writing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// How far a csv has been read.
struct GrowingRows {
  std::uint64_t offset = 0;             // behind the last row that was read; 0: not even the heading
  std::string heading = {};             // with its line end
  std::optional<Dialect> dialect = {};  // that the first row showed
};

// As read_rows_of_file(), for the rows of a csv behind `so_far`, which it brings forward before each row is handed out.
// A last line without its end is left for the next call, and so is a heading without its end.
Result<RowsRead> read_growing_rows(const std::string& path, GrowingRows& so_far, const EachRow& each);

}  // namespace tensorstat
