// Two runs, or two files, read and compared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/compare.hpp>
#include <vector>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/compare/element_comparison.hpp"
#include "stats/answer/compare/recorded.hpp"

namespace tensorstat {

struct Compared {
  Recorded a, b;
  Differences differences;
  ElementPass elements;
  std::optional<std::vector<Beginning>> first;  // where DiffOptions::first asks
  // The line of names by which tensors were paired, because no name is in both: "*,module.*". Else empty.
  std::string paired_by = {};
  bool is_wrapped = false;  // paired_by leaves out the name of a wrapper, such as DistributedDataParallel
  // A line for --names by which tensors without a partner would pair; may be empty.
  std::string would_pair = {};
  std::uint64_t left_out_pairs = 0;  // of equal rows in long runs: they are in no record

  std::uint64_t pair_count() const { return differences.pairs.size() + left_out_pairs; }

  bool is_whole() const { return a.is_whole && b.is_whole && elements.is_whole; }
};

// The pairs that are wanted. kUnequal: of long runs, the iterations in which all rows are equal may be left out; their
// rows are not kept in memory.
enum class PairsWanted : std::uint8_t { kAll, kUnequal };

// Both are read at the same time, so the listener is called by two threads. Errors: kInvalid, the options make no
// sense; kUnreadable, one of the two gives nothing to compare.
Result<std::unique_ptr<Compared>> compare_paths(const std::string& a, const std::string& b, const DiffOptions& options,
                                                const ReadListener& listener, PairsWanted wanted = PairsWanted::kAll);

}  // namespace tensorstat
