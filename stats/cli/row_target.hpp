// Where converted rows go: the files of a dialect in one folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/rows/dump_json/dump_json.hpp"
#include "stats/rows/row_carrier.hpp"

namespace tensorstat::cli {

class RowTarget {
 public:
  virtual ~RowTarget() = default;
  virtual Status carry(Row&& row) = 0;
  // Around the rows of a call, where they come out of a dump.json.
  virtual Status begin_call() { return {}; }
  virtual Status end_call(CallRead&& call) = 0;
  virtual Status finish() = 0;

  std::uint64_t rows = 0, files = 0;  // that were written
};

// The file that takes all rows of a folder: "statistic.csv"; "dump.json" where `to` is none. nullopt of kCann.
std::optional<std::string> rows_file(std::optional<Dialect> to);

// The files of `format` in `folder`, which is there: one, or one for each run of an operator. Runs are cut as
// run_cut.hpp says. A run's file has the time of its first row, or the next free one.
std::unique_ptr<RowTarget> make_target(const std::string& folder, RowFormat format, Losses& losses);

// msprobe's dump.json in `folder`: dump_json_carrier.hpp.
std::unique_ptr<RowTarget> make_dump_json_target(const std::string& folder, std::string_view framework, Losses& losses);

}  // namespace tensorstat::cli
