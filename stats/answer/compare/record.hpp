// The rows of a run, packed so that millions fit in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/answer/compare/interned_texts.hpp"
#include "stats/data/rows/names/dump_place.hpp"

namespace tensorstat {

inline constexpr std::uint32_t kNoPosition = UINT32_MAX;

// One row: a tensor of one run of an operator. The numbers that are not explained are of the record's texts.
struct RecordRow {
  std::uint32_t op_type = 0, name = 0, dtype = 0, shape = 0;
  std::uint32_t file = 0, tensor = 0;  // where the tensor can be read; both empty for a row of an operator
  std::uint32_t argument = 0;          // as msprobe names it: ".input.0", ".parameters.weight"; empty elsewhere
  std::uint32_t categories = 0;        // of the record's lists of categories
  std::uint32_t rank = 0, slot = 0;
  std::uint32_t run = 0;  // rows of one run of an operator have one number, and stand one after another
  bool is_input = false;
  bool is_parameter = false;  // of the call itself, and no argument of it
  Execution execution = Execution::kUnknown;
  std::uint32_t graph = 0, position = kNoPosition;  // in the order of the graph, where that is known
  std::uint64_t iteration = 0, timestamp_us = 0;
  std::uint64_t element_count = 0;
  std::uint64_t first_value = 0;  // of the record's values
};

class Record {
 public:
  // The source of a row, beside its own columns.
  struct Place {
    std::string_view name;           // the name used for pairing: an operator's name, or a tensor's path
    std::string_view file = {};      // where the tensor can be read; empty for a row of an operator
    std::string_view tensor = {};    // its name there, where the file is a container
    std::string_view argument = {};  // as msprobe names it: ".input.0", ".parameters.weight"
    std::uint32_t rank = 0;
    std::uint64_t iteration = 0;
    std::uint32_t graph = 0;
    std::optional<std::uint32_t> position = {};  // of the operator, in the order in which its graph is executed
    bool is_parameter = false;                   // of the call itself, and no argument of it
    Execution execution = Execution::kUnknown;
  };

  // Adds what a row says. It belongs to the run of the row before it where operator, rank, iteration and execution are
  // the same, unless its io and slot were in that run.
  void add(const Row& row, const Place& place);

  // Brings the runs into the order of execution: by iteration, then by the time of their first row. Runs of the same
  // time stay in the order in which they were added. If a graph of a rank has an order of its own, its runs change
  // places among each other until they are in that order. Numbers the runs anew.
  void sort();

  const std::vector<RecordRow>& rows() const { return rows_; }
  const InternedTexts& texts() const { return texts_; }
  StatisticsView statistics(const RecordRow& row) const;

  // The rows of a run, from 0 to run_count() - 1.
  std::span<const RecordRow> run(std::uint32_t number) const;
  std::uint32_t run_count() const { return static_cast<std::uint32_t>(first_rows_.size()); }

 private:
  void order_graphs(std::vector<std::uint32_t>& order) const;

  InternedTexts texts_;
  std::vector<Categories> categories_;
  std::vector<RecordRow> rows_;
  std::vector<Value> values_;
  std::vector<std::size_t> first_rows_;  // of the runs
  Shape last_shape_;                     // that was added
};

}  // namespace tensorstat
