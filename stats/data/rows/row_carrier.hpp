// Converts rows to another dialect and records the losses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/conversion_losses.hpp"
#include "stats/data/rows/csv/statistic_csv.hpp"

namespace tensorstat {

// The further columns of `read` that the dialect can have.
std::vector<std::string> columns_of(Dialect to, const std::vector<std::string>& read);

// Writes rows with any categories and columns to a file of one format. Columns that a row does not have are empty.
// Every written row is read back and compared, so that all losses are recorded. A row that cannot be read back is
// omitted and recorded.
class RowCarrier {
 public:
  // Omits the categories and columns of `wanted` that the dialect does not have. `losses` must outlive it.
  static Result<RowCarrier> open(RowFormat wanted, RowWriter::Sink sink, ConversionLosses& losses);

  // Passes several rows at a time to the sink, and returns the sink's error.
  Status carry(Row row);
  Status finish();

  std::uint64_t rows() const { return rows_; }  // rows written

 private:
  RowCarrier(CsvText text, RowWriter::Sink sink, ConversionLosses& losses);
  Status flush();
  Status write(std::string_view lines, std::span<const Row> rows, std::span<const Row> there);
  Result<std::vector<Row>> read_back(std::string_view lines, std::size_t count) const;
  void compare(const Row& before, const Row& after) const;

  CsvText text_;
  RowWriter::Sink sink_;
  ConversionLosses* losses_;
  std::string heading_, lines_;
  std::vector<Row> held_;  // the rows of lines_
  std::uint64_t rows_ = 0;
};

}  // namespace tensorstat
