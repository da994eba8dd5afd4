// How the lanes of a page differ. Each rank of one run is held against the first. Each rank of a second run is held
// against the same rank of the first run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/show/page/contents.hpp"

namespace tensorstat {

class LaneDifferences {
 public:
  // References to `digests` and `contents` are kept. `digests` are of each cell, as HistorySeries has them; empty:
  // there are none. The contents have their lanes, planes and kHasRow.
  LaneDifferences(std::size_t run_count, bool lacks_statistics, const std::vector<std::uint64_t>& digests,
                  PageContents& contents)
      : run_count_(run_count), lacks_statistics_(lacks_statistics), digests_(digests), contents_(contents) {}

  void mark() const;  // sets kCompared and kDiffers of the cells
  // Call it after mark(), for two runs. It begins the verdict with where the second run parts from the first: in a bit,
  // and by a hundredth.
  void tell() const;

 private:
  std::optional<std::size_t> reference_of(std::size_t lane) const;
  std::optional<bool> differs(std::size_t a, std::size_t b) const;
  bool differs_by_much(std::size_t a, std::size_t b) const;
  std::string compared() const;
  std::string told_difference(std::size_t a, std::size_t b) const;

  std::size_t run_count_;
  bool lacks_statistics_;  // a large run's planes are not all that its rows have
  const std::vector<std::uint64_t>& digests_;
  PageContents& contents_;
};

}  // namespace tensorstat
