#include "stats/answer/store/row_insert.hpp"

namespace tensorstat {

Result<RowInsert> RowInsert::prepare(Database& database, int columns, std::size_t rows) {
  std::string row = "(?";
  for (int i = 1; i < columns; ++i) row += ",?";
  row += ")";
  const std::string sql = "INSERT INTO rows VALUES" + row;
  std::string group = sql;
  for (int i = 1; i < kRows; ++i) group += "," + row;
  auto one = database.prepare(sql), many = database.prepare(group);
  if (!one || !many) return one ? many.error() : one.error();
  RowInsert insert;
  insert.one_ = *std::move(one);
  insert.group_ = *std::move(many);
  insert.columns_ = columns;
  insert.left_ = rows;
  insert.is_group_ = rows >= kRows;
  return insert;
}

Status RowInsert::step(Database& database) {
  if (is_group_ && ++at_ < kRows) return {};
  Status stepped = database.step_once(statement());
  left_ -= is_group_ ? kRows : 1;
  at_ = 0;
  is_group_ = left_ >= kRows;
  return stepped;
}

}  // namespace tensorstat
