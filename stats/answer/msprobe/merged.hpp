// msprobe's merge_result: what the tables of several ranks say about some calls, beside each other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

struct MergeConfig {
  std::vector<std::string> calls;    // "Distributed.all_reduce.0.forward": parts of names
  std::vector<std::string> columns;  // headings of the table; empty: all differences and "Requires_grad Consistent"
};

// The config of a yaml file: {api: [...], compare_index: [...]}.
Result<MergeConfig> merge_config_of(const PythonTree& file);

class MergedTables {
 public:
  explicit MergedTables(MergeConfig config) : config_(std::move(config)) {}

  // Takes the cells of a rank's table. A cell without a number (N/A, Nan, unsupported) becomes "NPU:max  Bench:max", so
  // the group of a collective call is seen. Errors: the comparison is of checksums, or has no such column.
  Status add(std::uint64_t rank, const Comparison& comparison);

  // Names of calls that no rank has.
  std::vector<std::string> missing() const;

  struct Sheet {
    std::string column;                           // its heading in the ranks' tables
    std::vector<std::vector<PythonValue>> lines;  // the heading, then the lines by NPU Name; "" where a rank has none
  };
  std::vector<Sheet> sheets() const;

 private:
  using Cells = std::map<std::string, std::map<std::uint64_t, PythonValue>>;  // by name and rank

  MergeConfig config_;
  std::vector<std::uint64_t> ranks_;
  std::vector<std::pair<std::string, Cells>> columns_;
  std::vector<std::string> order_;  // of the first rank's names: one rank alone is not sorted
  std::vector<bool> is_found_;      // by call of the config
};

// The sheets below each other, with the column's name first in each line.
std::string csv_of(const std::vector<MergedTables::Sheet>& sheets);

}  // namespace tensorstat::msprobe
