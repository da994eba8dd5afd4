// The parsed command line of a call without a subcommand.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <variant>
#include <vector>

#include "stats/data/files/tensor_source.hpp"
#include "stats/data/rules/rule.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/terminal/screen.hpp"

namespace tensorstat::cli {

enum class Format { kTable, kCsv, kJson, kNdjson, kMarkdown };

// --sort: numbers in descending order, texts in natural order; reversed with is_reversed.
struct Sort {
  Subject subject;
  bool is_reversed = false;
};

struct Arguments {
  std::vector<std::string> paths;
  Request request;
  bool stats_are_default = true;  // --stats was not given
  MeterOptions meter;
  bool void_is_bfloat16 = false;
  std::optional<RawTensor> raw;  // for files without a header
  std::optional<By> by;          // one row for each of these
  Format format = Format::kTable;
  Color color = Color::kAuto;
  std::vector<std::string> columns;  // further columns of a csv
  std::string output;                // empty: stdout
  std::vector<Rule> fail_on;
  std::optional<Rule> where;
  std::optional<Sort> sort;
  std::optional<std::uint64_t> top;
  FileOrder order = FileOrder::kGiven;
  bool head_only = false;  // read only headers
  bool is_quiet = false, is_verbose = false;
  bool explain = false;
};

}  // namespace tensorstat::cli
