// Writes converted rows: the files of a dialect in one folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/dump_json/dump_json.hpp"
#include "stats/data/rows/row_carrier.hpp"

namespace tensorstat::cli {

class RowTarget {
 public:
  virtual ~RowTarget() = default;
  virtual Status carry(Row&& row) = 0;
  // Called around the rows of a call from a dump.json.
  virtual Status begin_call() { return {}; }
  virtual Status end_call(CallRead&& call) = 0;
  virtual Status finish() = 0;

  std::uint64_t rows = 0, files = 0;  // written so far
};

// The file for all rows of a folder: "statistic.csv", or "dump.json" if `to` is nullopt. nullopt for kCann, which has
// one file per run.
std::optional<std::string> rows_file(std::optional<Dialect> to);

// Writes the files of `format` into an existing folder: one, or one for each run of an operator. run_cut.hpp decides
// where a run ends. A run's file is named by the time of its first row, or the next free time.
std::unique_ptr<RowTarget> make_target(const std::string& folder, RowFormat format, ConversionLosses& losses);

// Writes msprobe's dump.json into `folder`: dump_json_carrier.hpp.
std::unique_ptr<RowTarget> make_dump_json_target(const std::string& folder, std::string_view framework,
                                                 ConversionLosses& losses);

}  // namespace tensorstat::cli
