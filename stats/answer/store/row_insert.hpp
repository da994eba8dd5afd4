// Inserts rows into the table `rows`, 64 by one statement. SQLite opens the table once for a statement, and finds a
// row's place in the key from the row before it: this takes two thirds of the time.
#pragma once

#include "stats/answer/store/database.hpp"

namespace tensorstat {

class RowInsert {
 public:
  // For `rows` rows of a table with `columns` columns.
  static Result<RowInsert> prepare(Database& database, int columns, std::size_t rows);

  // Where the next row is bound: its columns are the parameters first() and on.
  Statement& statement() { return is_group_ ? group_ : one_; }
  int first() const { return at_ * columns_ + 1; }

  // After all columns of a row were bound.
  Status step(Database& database);

 private:
  static constexpr int kRows = 64;

  Statement group_, one_;
  int columns_ = 0, at_ = 0;  // at_: of the row in its group
  std::size_t left_ = 0;      // rows to come, from this group on
  bool is_group_ = false;
};

}  // namespace tensorstat
