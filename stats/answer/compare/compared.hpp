// Two runs, or two files, read and compared.
#pragma once

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
  // A line for --names by which tensors without a partner would pair; may be empty.
  std::string would_pair = {};

  bool is_whole() const { return a.is_whole && b.is_whole && elements.is_whole; }
};

// Both are read at the same time, so the listener is called by two threads. Errors: kInvalid, the options make no
// sense; kUnreadable, one of the two gives nothing to compare.
Result<std::unique_ptr<Compared>> compare_paths(const std::string& a, const std::string& b, const DiffOptions& options,
                                                const ReadListener& listener);

}  // namespace tensorstat
