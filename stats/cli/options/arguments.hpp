// The command line, understood.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <variant>
#include <vector>

#include "stats/cli/convert_command.hpp"
#include "stats/cli/devices_command.hpp"
#include "stats/cli/diff_command.hpp"
#include "stats/cli/dump_command.hpp"
#include "stats/cli/explain_command.hpp"
#include "stats/cli/inputs.hpp"
#include "stats/cli/report/screen.hpp"
#include "stats/files/tensor_source.hpp"
#include "stats/rules/rule.hpp"

namespace tensorstat::cli {

// What the command's exit status means; --help says the same in words. Of several, the greatest is given: an error
// wins over a finding, as with grep.
enum Exit : int {
  kDone = 0,
  kFound = 1,       // a tensor meets a rule of --fail-on; nothing failed
  kUsage = 2,       // the command line makes no sense; nothing was done
  kNotRead = 3,     // some input could not be read; the others were done and written
  kNoDevice = 4,    // --on device was asked for and no device can do it, or --device names none
  kNotWritten = 5,  // the results could not be written
};

enum class Format { kTable, kCsv, kJson, kNdjson, kMarkdown };

// --sort: by numbers, the greatest first, or by texts, in natural order; or the other way round.
struct Sort {
  Subject subject;
  bool is_reversed = false;
};

struct Arguments {
  // The subcommand that was asked for.
  std::optional<DevicesArguments> devices;
  std::optional<ExplainArguments> explained;
  std::optional<DumpArguments> dump;
  std::optional<ConvertArguments> convert;
  std::optional<DiffArguments> diff;
  std::optional<OriginArguments> origin;

  std::vector<std::string> paths;
  Request request;
  bool stats_are_default = true;  // --stats was not given
  MeterOptions meter;
  bool void_is_bfloat16 = false;
  std::optional<RawTensor> raw;  // the files have no header
  std::optional<By> by;          // a row for each of these
  Format format = Format::kTable;
  Color color = Color::kAuto;
  std::vector<std::string> columns;  // of a csv, after the documented ones
  std::string output;  // empty: stdout
  std::vector<Rule> fail_on;
  std::optional<Rule> where;
  std::optional<Sort> sort;
  std::optional<std::uint64_t> top;
  FileOrder order = FileOrder::kGiven;
  bool head_only = false;  // no element is read
  bool is_quiet = false, is_verbose = false;
  bool explain = false;
};

}  // namespace tensorstat::cli
