// Where converted rows go: the files of a dialect in one folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tensorstat/rows.hpp>

#include "stats/rows/row_carrier.hpp"

namespace tensorstat::cli {

class RowTarget {
 public:
  virtual ~RowTarget() = default;
  virtual Status carry(Row&& row) = 0;
  virtual Status finish() = 0;

  std::uint64_t rows = 0, files = 0;  // that were written
};

// The files of `format` in `folder`, which is there: one, or one for each run of an operator. A run is rows of one
// operator, task and stream that follow each other; it ends where an input or output comes again. Its file has the time
// of its first row, or the next free one.
std::unique_ptr<RowTarget> make_target(const std::string& folder, RowFormat format, Losses& losses);

}  // namespace tensorstat::cli
