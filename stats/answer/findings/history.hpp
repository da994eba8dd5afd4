// All values of a run over its iterations: each tensor on each rank is a series of cells, one an iteration. It holds
// what the rules and the pictures need, in 40 bytes a row, and 8 more of a row with a digest.
//
//   auto run = judge_run(path, {}, {}, listener);
//   for (const HistorySeries& series : run->history.series())
//     for (const HistoryCell& cell : series.cells)
//       draw(series.tensor, history.places()[cell.place].iteration, cell.l2norm);
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stats/answer/compare/interned_texts.hpp"
#include "stats/answer/compare/record.hpp"
#include "stats/answer/findings/history_detail.hpp"

namespace tensorstat {

// A tensor as all ranks and iterations know it. Texts are numbers of History::texts().
struct HistoryTensor {
  std::uint32_t op_type = 0, op_name = 0;
  std::uint32_t slot = 0;
  std::uint32_t call = 0;  // how many rows of this name the place had before: a layer may run twice in an iteration
  bool is_input = false;
  bool is_parameter_of_call = false;  // of the call itself, and no argument of it
  Execution execution = Execution::kUnknown;
  friend bool operator==(const HistoryTensor&, const HistoryTensor&) = default;
};

struct HistoryPlace {
  std::uint32_t rank = 0, graph = 0;
  std::uint64_t iteration = 0;
  friend bool operator==(const HistoryPlace&, const HistoryPlace&) = default;
};

// Bits of HistoryKind::measured.
enum HistoryBit : std::uint16_t {
  kHasMax = 1,
  kHasMin = 2,
  kHasAbsmax = 4,  // of its own, or of max and min
  kHasL2norm = 8,
  kHasAvg = 16,
  kHasNanCount = 32,
  kHasInfCounts = 64,
  kHasCount = 128,
  kShowsNan = 256,  // by stats/data/rules/specials.hpp, as the bits of Inf below
  kShowsInf = 512,
  kShowsPlusInf = 1024,
  kShowsMinusInf = 2048,
};

// Properties that many cells share. NaN and Inf counts are in the kind, because few cells have any.
struct HistoryKind {
  std::uint32_t dtype = 0, shape = 0;  // indices into History::texts()
  std::uint16_t measured = 0;          // bits of HistoryBit
  std::uint64_t count = 0;             // elements, where kHasCount
  std::uint64_t nan = 0, positive_inf = 0, negative_inf = 0;
  bool has(std::uint16_t bits) const { return (measured & bits) == bits; }
  friend bool operator==(const HistoryKind&, const HistoryKind&) = default;
};

// A value that was not measured, or does not exist, is 0 and its bit is clear. Integers above 2^53 are rounded.
struct HistoryCell {
  double max = 0, min = 0, l2norm = 0, avg = 0;
  std::uint32_t place = 0, kind = 0;  // of History::places() and kinds()
};
static_assert(sizeof(HistoryCell) == 40, "ten million rows in 381 MiB");

inline constexpr std::uint64_t kFingerprintSet = 0xffff;

struct HistorySeries {
  std::uint32_t tensor = 0, rank = 0;
  std::vector<HistoryCell> cells;  // by iteration
  // For parameters only, one a cell: equal numbers mean equal bits, as far as the measured statistics can tell. The
  // bits of kFingerprintSet say which statistics these are. 0: unknown, because they were rounded to six digits.
  std::vector<std::uint64_t> fingerprints;
  // One a cell, if a row has a digest: 0: none. Numbers of one kind of digest (same_digest()) mean equal bits if they
  // are equal, and other bits if they are not.
  std::vector<std::uint64_t> digests;
  // One a cell, if a row has counts of casts or exponents: a number in History::details(), from 1; 0: none.
  std::vector<std::uint32_t> details;
};

struct HistoryRank {
  std::uint64_t rows = 0, last_iteration = 0;
  std::uint64_t last_row_us = 0;  // the latest time that a row says, since the Unix epoch; 0: none says it
};

class History {
 public:
  // A row. Tensors are numbered in the order in which they come.
  struct Entry {
    std::string_view op_type, op_name, dtype, shape;
    bool is_input = false;
    bool is_parameter_of_call = false;
    std::uint32_t slot = 0;
    Execution execution = Execution::kUnknown;
    HistoryPlace place;
    std::uint64_t timestamp_us = 0;
    std::optional<std::uint32_t> position = {};  // of the operator, in the order in which its graph is executed
    std::optional<std::uint64_t> count = {};     // of elements
    StatisticsView statistics;
  };
  const HistorySeries& add(const Entry& entry);  // the series that has it; valid until the next row
  const HistorySeries& add(const Row& row, const Record::Place& place);
  // Call after the last row. Sorts places by iteration, graph and rank, the cells by their places, and series by the
  // execution of their first rows.
  void finish();

  const InternedTexts& texts() const { return texts_; }
  const std::vector<HistoryTensor>& tensors() const { return tensors_; }
  const std::vector<HistoryPlace>& places() const { return places_; }
  const std::vector<HistoryKind>& kinds() const { return kinds_; }
  const std::vector<HistorySeries>& series() const { return series_; }  // in the order of execution
  // nullptr: the cell has neither counts of casts nor exponents.
  const HistoryDetail* detail(const HistorySeries& series, std::size_t cell) const {
    return cell < series.details.size() && series.details[cell] != 0 ? &details_[series.details[cell] - 1] : nullptr;
  }
  const std::vector<HistoryDetail>& details() const { return details_; }
  // Whether two cells have the same bits, by a digest that both have; nullopt: they have none.
  static std::optional<bool> same_digest(std::uint64_t a, std::uint64_t b);
  // nullptr: the rank has no such tensor.
  const HistorySeries* series(std::uint32_t tensor, std::uint32_t rank) const;
  std::uint64_t row_count() const { return row_count_; }
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }  // ascending, after finish()
  const std::map<std::uint32_t, HistoryRank>& rank_states() const { return rank_states_; }
  const std::vector<std::uint64_t>& iterations() const { return iterations_; }  // ascending, after finish()
  std::size_t bytes() const;                                                    // memory of the cells and their lists

  std::string_view op_name(std::uint32_t tensor) const { return texts_[tensors_[tensor].op_name]; }
  std::string_view op_type(std::uint32_t tensor) const { return texts_[tensors_[tensor].op_type]; }
  std::string_view dtype(const HistoryCell& cell) const { return texts_[kinds_[cell.kind].dtype]; }
  std::uint64_t iteration(const HistoryCell& cell) const { return places_[cell.place].iteration; }
  // NaN where it is not known.
  double absmax(const HistoryCell& cell) const;
  // Whether a count, or a value where nothing was counted, shows NaN or Inf.
  bool has_nan(const HistoryCell& cell) const;
  bool has_inf(const HistoryCell& cell) const;
  // The size of a tensor in one number: l2norm, else absmax; NaN where neither is known.
  double size(const HistoryCell& cell) const;

 private:
  template <typename T>
  struct HashOf {
    std::size_t operator()(const T& key) const;
  };

  // When the first row of a series was executed.
  struct Begin {
    std::uint64_t iteration = 0, timestamp_us = 0;
    std::uint32_t graph = 0, rank = 0;
    std::optional<std::uint32_t> position = {};
  };

  std::uint32_t series_of(HistoryTensor tensor, std::uint32_t rank, std::uint32_t place);
  void order_places();
  void order_series();

  InternedTexts texts_;
  std::vector<HistoryTensor> tensors_;
  std::vector<HistoryPlace> places_;
  std::vector<HistoryKind> kinds_;
  std::vector<HistorySeries> series_;
  std::vector<HistoryDetail> details_;
  std::vector<Begin> begins_;  // of series_
  std::vector<std::uint32_t> ranks_;
  std::map<std::uint32_t, HistoryRank> rank_states_;
  std::vector<std::uint64_t> iterations_;
  std::unordered_map<HistoryTensor, std::uint32_t, HashOf<HistoryTensor>> tensor_ids_;
  std::unordered_map<HistoryPlace, std::uint32_t, HashOf<HistoryPlace>> place_ids_;
  std::unordered_map<HistoryKind, std::uint32_t, HashOf<HistoryKind>> kind_ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> series_ids_;  // by tensor and rank
  // For the first call of a name on a rank: the place of its last row, and the number of calls at that place.
  struct Repeated {
    std::uint32_t place = UINT32_MAX, calls = 0;
  };
  std::unordered_map<std::uint64_t, Repeated> repeated_;
  std::uint64_t row_count_ = 0;
};

}  // namespace tensorstat
