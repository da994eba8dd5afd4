// What --columns puts into a csv, and the rows that nothing tells apart without it.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <unordered_map>
#include <vector>

namespace tensorstat::cli {

// Finds rows of different folders that are alike but for their times, which tell nobody the step.
class AlikeRows {
 public:
  // Of these files.
  AlikeRows(std::vector<std::string> columns, const std::vector<std::string>& files);

  // Whether this row is the first that is like one of another folder.
  bool are_met(const std::string& path, const Identity& identity);

 private:
  const std::vector<std::string> columns_;                 // that the rows have beside the common ones
  std::unordered_map<std::size_t, std::size_t> folders_;  // by a hash of the identity, that of the folder
  std::string key_;      // of the row before it, whose memory the next one takes
  bool is_over_ = true;  // no row can be the first any more
};

}  // namespace tensorstat::cli
