// Rows of one dialect into a file of another, with a record of what the other has no form for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/rows/conversion_losses.hpp"
#include "stats/rows/csv/statistic_csv.hpp"

namespace tensorstat {

// The further columns that the rows of `read` have and a file of this dialect has a place for.
std::vector<std::string> columns_of(Dialect to, const std::vector<std::string>& read);

// Writes rows of any categories and columns to a file of one format: those of the format that a row does not have are
// cells without a value. Every row is read back as it was written, and compared, so that no loss goes unsaid; one that
// would not be read again is left out and said.
class RowCarrier {
 public:
  // The categories and columns of `wanted` that the dialect has no place for are left out. `losses` outlives it.
  static Result<RowCarrier> open(RowFormat wanted, RowWriter::Sink sink, Losses& losses);

  // The sink gets some rows at a time. What it returns as an error is returned.
  Status carry(Row row);
  Status finish();

  std::uint64_t rows() const { return rows_; }  // that were written

 private:
  RowCarrier(CsvText text, RowWriter::Sink sink, Losses& losses);
  Status flush();
  Status write(std::string_view lines, std::span<const Row> rows, std::span<const Row> there);
  Result<std::vector<Row>> read_back(std::string_view lines, std::size_t count) const;
  void compare(const Row& before, const Row& after) const;

  CsvText text_;
  RowWriter::Sink sink_;
  Losses* losses_;
  std::string heading_, lines_;
  std::vector<Row> held_;  // whose lines these are
  std::uint64_t rows_ = 0;
};

}  // namespace tensorstat
