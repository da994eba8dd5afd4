// Tells which iterations of two runs agree row by row, without their rows in memory.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tensorstat/rows.hpp>
#include <utility>

#include "stats/answer/compare/record.hpp"

namespace tensorstat {

// A number for the rows of each iteration of each rank. Add the rows in the order of reading.
class RowPrints {
 public:
  void add(const Row& row, const Record::Place& place);

  // The iterations in which the runs may differ: other rows, another order, or rows that equal numbers do not prove
  // equal.
  static std::set<std::uint64_t> unequal(const RowPrints& a, const RowPrints& b);
  std::uint64_t row_count() const { return row_count_; }

 private:
  struct Print {
    std::uint64_t hash = 0, last_time = 0;
    bool is_proof = true;
    bool agrees_with(const Print& other) const { return hash == other.hash && is_proof && other.is_proof; }
  };

  std::map<std::pair<std::uint64_t, std::uint32_t>, Print> prints_;  // by iteration and rank
  std::uint64_t row_count_ = 0;
};

}  // namespace tensorstat
