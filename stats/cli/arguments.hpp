// The command line, understood.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <variant>
#include <vector>

#include "stats/cli/condition.hpp"
#include "stats/cli/convert_command.hpp"
#include "stats/cli/dump_command.hpp"

namespace tensorstat::cli {

// What the command's exit status means; --help says the same in words. Of several, the greatest is given: an error
// wins over a finding, as with grep.
enum Exit : int {
  kDone = 0,
  kFound = 1,       // a tensor meets a condition of --fail-on; nothing failed
  kUsage = 2,       // the command line makes no sense; nothing was done
  kNotRead = 3,     // some input could not be read; the others were done and written
  kNoDevice = 4,    // --on device was asked for and no device can do it
  kNotWritten = 5,  // the results could not be written
};

enum class Format { kTable, kCsv, kJson, kNdjson };

struct Arguments {
  bool list_devices = false;
  std::optional<DumpArguments> dump;        // `tensorstat dump` was asked for
  std::optional<ConvertArguments> convert;  // `tensorstat convert` was
  std::vector<std::string> paths;
  Request request;
  bool stats_are_default = true;  // --stats was not given
  MeterOptions meter;
  bool void_is_bfloat16 = false;
  Format format = Format::kTable;
  std::vector<std::string> columns;  // of a csv, after the documented ones
  std::string output;  // empty: stdout
  std::vector<Condition> fail_on;
  bool explain = false;
};

// The arguments, or the exit status after help, the version or an error has been printed.
std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv);

}  // namespace tensorstat::cli
