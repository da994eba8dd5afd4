// Reads the rows of one file out of a store.
#pragma once

#include <cstdint>
#include <map>
#include <tensorstat/rows.hpp>
#include <utility>
#include <vector>

#include "stats/answer/store/database.hpp"
#include "stats/data/rows/csv/csv_value.hpp"

namespace tensorstat {

// A file of the table `sources`, and the range of its tensors.
struct StoredSource {
  std::uint64_t source = 0, least_tensor = 0, most_tensor = 0;
};

class RowReader {
 public:
  // The database outlives the reader.
  static Result<RowReader> open(Database& database, const StoredSource& source);

  // Reads the next row in the file's order. Returns false at the end.
  Result<bool> next(Row& row);

 private:
  struct Kind {
    Row row;  // its dtype, size, shape and statistics
    ElementKind element = ElementKind::kReal;
    std::vector<int> columns;  // of the statement, for each statistic; -1: none
  };
  enum StoredColumn : int;

  RowReader(Database& database, std::uint64_t source) : database_(&database), source_(source) {}
  Status prepare(const StoredSource& source);
  Result<const Kind*> kind_of(std::uint64_t number);
  void take_statistics(const Kind& kind, Row& row) const;
  Status take_extra(Row& row);
  Status take_exact(Row& row);

  Database* database_;
  std::uint64_t source_;
  Statement rows_, find_kind_, find_extra_, find_exact_;
  std::map<Category, int> columns_;  // of the statement, by statistic
  std::map<std::uint64_t, Kind> kinds_;
};

}  // namespace tensorstat
