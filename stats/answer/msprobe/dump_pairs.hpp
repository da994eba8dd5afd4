// Which dumps of two trees are held against each other.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat::msprobe {

struct DumpPair {
  std::string npu, bench;  // files
  // What tells the pair from the others, for the name of its table: "_graph_step3_rank1"; "" of the only one.
  std::string name;
  std::uint64_t rank = 0;
  bool differ_in_rank_alone = true;  // the pairs: one execution, one step
};

struct DumpPairs {
  std::vector<DumpPair> pairs;                    // in the order of execution, step and rank
  std::vector<std::string> only_npu, only_bench;  // files without a partner
  std::vector<Error> faults;                      // folders that could not be read: there may be more dumps
};

// Each path is a file, or a folder of dumps of several ranks and steps, and of graph/ and pynative/. Dumps pair by
// execution, step and rank. What is the same of all dumps of either side does not count: step 3 may be held
// against step 5. Errors: a path holds no dump; two dumps of a side have one place; nothing pairs.
Result<DumpPairs> pairs_of_dumps(const std::string& npu, const std::string& bench);

}  // namespace tensorstat::msprobe
