// What a page shows of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/findings/history.hpp"

namespace tensorstat {

struct PageFinding {
  std::string rule;      // "nan"
  std::string severity;  // "error", "warning" or "note"
  std::string op_name;
  std::string io = {};  // "output.0"; empty: any
  std::optional<std::uint64_t> rank, first_iteration, last_clean_iteration;
  std::string text, next;                  // what was found; what to look at next
  std::optional<std::size_t> tensor = {};  // of the contents
};

// The findings as the caller has them, and what is said of the whole run.
struct PageWords {
  std::string source;                 // what was read
  std::vector<std::string> verdict;   // sentences, the first of them in large letters
  std::vector<PageFinding> findings;  // the first is the verdict's
  std::uint32_t tensor = UINT32_MAX;  // of the history: the first finding's; UINT32_MAX: it is looked for by its name
  std::vector<std::string> not_measured, notes;
};

struct PageTensor {
  std::string type, name, io, dtype, shape;  // io: "output.0"
};

// A cell is one tensor on one rank in one iteration: (tensor * ranks + rank) * iterations + iteration.
struct PageContents {
  enum Fault : std::uint8_t { kNoFault = 0, kNan = 2, kPlusInf = 3, kMinusInf = 4 };  // as the script has them
  struct Plane {
    std::string name;  // "l2norm"
    std::vector<double> values;
    std::vector<std::uint8_t> has;  // whether there is a value
  };
  struct Exact {
    std::size_t cell;
    std::vector<std::string> texts;  // a plane's value each, as csv has it
  };

  PageWords words;
  std::vector<std::string> measured;
  std::uint64_t row_count = 0;
  std::vector<PageTensor> tensors;
  std::vector<std::uint64_t> ranks, iterations;
  std::vector<Plane> planes;
  std::vector<std::uint8_t> faults;
  std::vector<Exact> exact;  // ascending
  std::optional<std::size_t> loss;

  std::size_t cell(std::size_t tensor, std::size_t rank, std::size_t iteration) const {
    return (tensor * ranks.size() + rank) * iterations.size() + iteration;
  }
};

// An error: there are more cells than a page can hold. Texts of integers above 2^53 say that they are rounded.
Result<PageContents> page_contents(const History& history, PageWords words);

}  // namespace tensorstat
