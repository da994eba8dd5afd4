// The contents of a page: findings, tensors and the values of cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

struct PageFinding {
  std::string rule;      // "nan"
  std::string severity;  // "error", "warning" or "note"
  std::string op_name;
  std::string io = {};  // "output.0"; empty: any
  std::optional<std::uint64_t> rank, first_iteration, last_clean_iteration;
  std::string text, next;                  // the finding, and where to look next
  std::size_t run = 0;                     // 1: the second run
  std::optional<std::size_t> tensor = {};  // an index into the contents' tensors
};

// The findings of the caller, and sentences about the whole run.
struct PageWords {
  std::string source;                  // the file or folder that was read
  std::vector<std::string> verdict;    // sentences, the first of them in large letters
  std::vector<PageFinding> findings;   // the first is the verdict's
  std::uint32_t tensor = UINT32_MAX;   // the first finding's index in the history; UINT32_MAX: search by name
  std::optional<std::size_t> parting;  // the cell where B parts from A; none: there is one run, or they agree
  std::vector<std::string> not_measured, notes;
  std::uint64_t follow_seconds = 0;  // the file is rewritten after so many seconds; 0: never
};

struct PageTensor {
  std::string type, name, io, dtype, shape;  // io: "output.0"; dtype and shape: of its first row
  std::uint64_t most_elements = 0;           // of a row, if rows have other numbers of elements; else 0
};

// A lane is a rank of a run. A cell is one tensor in one lane in one column of iterations:
// (tensor * lanes + lane) * iterations + column.
struct PageContents {
  enum Fault : std::uint8_t { kNoFault = 0, kNan = 2, kPlusInf = 3, kMinusInf = 4 };  // as the script has them
  // A bit beside the fault: a value, or a digest, differs in a bit from the lane that this one is held against. That is
  // the first rank of its run; of a second run, the same rank of the first run.
  static constexpr std::uint8_t kDiffers = 8;
  static constexpr std::uint8_t kCompared = 64;  // both have a statistic, or a digest, that tells whether they differ
  static constexpr std::uint8_t kAlsoInf = 16;   // beside kNan
  static constexpr std::uint8_t kHasRow = 32;    // also where the row has none of the page's statistics
  struct Lane {
    std::size_t run = 0;
    std::uint64_t rank = 0;
  };
  struct Plane {
    std::string name;  // "l2norm"
    std::vector<double> values;
    std::vector<std::uint8_t> has;  // whether there is a value
  };
  struct Exact {
    std::size_t cell;
    std::vector<std::string> texts;  // the value of each plane, as in statistic.csv
  };

  PageWords words;
  std::vector<std::string> measured;
  std::uint64_t row_count = 0;
  std::vector<PageTensor> tensors;
  std::vector<std::string> runs;  // the names of two runs; empty for one
  std::vector<Lane> lanes;
  std::vector<std::uint64_t> iterations;  // the first of each column
  std::size_t pooled = 1;                 // iterations of a column: it shows the worst of them
  std::vector<Plane> planes;
  std::vector<std::uint8_t> faults;
  std::vector<Exact> exact;  // ascending
  // Exponents over the columns; tensors with findings come first. The codes are those of HistoryDetail. Each series has
  // a row of codes for zeros and subnormals, then a row for each binade.
  struct ExponentSeries {
    std::size_t tensor, lane;
    int lowest;
    std::size_t binades;
  };
  std::vector<ExponentSeries> exponent_series;
  std::vector<std::uint8_t> exponents;
  std::optional<std::size_t> loss;

  std::size_t cell(std::size_t tensor, std::size_t lane, std::size_t column) const {
    return (tensor * lanes.size() + lane) * iterations.size() + column;
  }
  std::size_t column_of(std::uint64_t iteration) const;
  std::optional<std::size_t> lane_of(std::size_t run, std::uint64_t rank) const;  // nullopt: there is none
};

// The contents for one run, or for two that are compared. A page holds 16 million cells; in a larger run each column
// covers several iterations. The histories are read here and not kept.
PageContents page_contents(const std::vector<const History*>& runs, PageWords words,
                           const std::vector<std::string>& names = {});

}  // namespace tensorstat
