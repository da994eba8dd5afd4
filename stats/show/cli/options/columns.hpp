// --columns, and a check for rows that are equal without it.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <unordered_map>
#include <vector>

namespace tensorstat::cli {

// Finds rows of different folders that differ only in their times. Such rows do not show which step they belong to.
class AlikeRows {
 public:
  // `files`: all files that will be read.
  AlikeRows(std::vector<std::string> columns, const std::vector<std::string>& files);

  // Whether this row is the first to equal one of another folder.
  bool are_met(const std::string& path, const Identity& identity);

 private:
  const std::vector<std::string> columns_;                // further columns of the rows
  std::unordered_map<std::size_t, std::size_t> folders_;  // hash of the identity to hash of the folder
  std::string key_;                                       // a buffer that is reused for each row
  bool is_over_ = true;                                   // the answer is settled: always false from now on
};

}  // namespace tensorstat::cli
