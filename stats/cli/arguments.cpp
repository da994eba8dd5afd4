#include "stats/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <limits>
#include <map>
#include <string_view>

namespace tensorstat::cli {
namespace {

constexpr const char* kStatsByDefault =
    "max,min,avg,l2norm,count,nan count,negative inf count,positive inf count,zero count";

constexpr const char* kExamples = R"(Examples:
  tensorstat weights.npy                          what is in it, at a glance
  tensorstat run/rank_0 --stats max,min,l2norm    every .npy file below a directory
  tensorstat run --stats all -o statistic.csv     MindSpore's columns, for a spreadsheet
  tensorstat 'grad.*.npy' --format json | jq '.tensors[] | select(.stats["nan count"] > 0) | .path'
  tensorstat huge.npy --on device --budget 512M --explain
  tensorstat dump --config data_dump.json run     what MindSpore would have written of them
  tensorstat devices                              what there is to compute on
)";

constexpr const char* kAfterwards =
    R"(Statistics: max, min, avg, count, negative zero count (elements below 0), positive zero count
(above 0), nan count, negative inf count, positive inf count, zero count, md5, l2norm.
nan-count and nan_count mean the same as "nan count".

Exit status: 0 done; 1 the results could not be written; 2 wrong usage; 3 some input could not be
read (the others are done and written); 4 --on device was asked for and no device can do it.)";

class ExamplesFirst : public CLI::Formatter {
 public:
  ExamplesFirst() { column_width(24); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
    const std::size_t usage = help.find("Usage:");
    if (app->get_parent() == nullptr && usage != help.npos) {
      help.insert(usage, std::string(kExamples) + "\n");
    }
    return help;
  }
};

bool parse_whole(std::string_view digits, auto& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size();
}

// "1048576", "512M", "2g".
std::optional<std::uint64_t> bytes_from(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
      case 'k':
        shift = 10;
        break;
      case 'M':
      case 'm':
        shift = 20;
        break;
      case 'G':
      case 'g':
        shift = 30;
        break;
    }
  }
  if (shift != 0) text.remove_suffix(1);
  std::uint64_t number = 0;
  if (!parse_whole(text, number) || number > std::numeric_limits<std::uint64_t>::max() >> shift) {
    return std::nullopt;
  }
  return number << shift;
}

// "0:1"
bool parse_device(std::string_view text, int& platform, int& device) {
  const std::size_t colon = text.find(':');
  return colon != text.npos && parse_whole(text.substr(0, colon), platform) &&
         parse_whole(text.substr(colon + 1), device) && platform >= 0 && device >= 0;
}

Format format_for(const std::string& output) {
  if (output.ends_with(".csv")) return Format::kCsv;
  if (output.ends_with(".json")) return Format::kJson;
  if (output.ends_with(".ndjson") || output.ends_with(".jsonl")) return Format::kNdjson;
  return Format::kTable;
}

// `text`'s value, or an error that says what is allowed.
template <typename T>
T choose(const std::string& option, const std::string& text,
         const std::vector<std::pair<const char*, T>>& choices) {
  std::string allowed;
  for (const auto& [word, value] : choices) {
    if (text == word) return value;
    allowed.append(allowed.empty() ? "" : ", ").append(word);
  }
  throw CLI::ValidationError(option, "'" + text + "' is none of " + allowed);
}

}  // namespace

std::variant<Arguments, int> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Statistics of tensors: max, min, avg, l2norm, how many NaN, Inf and zeros, MD5.\n",
               "tensorstat");
  app.formatter(std::make_shared<ExamplesFirst>());
  app.set_version_flag("--version", "tensorstat " + version());
  app.footer(kAfterwards);
  app.get_option("--help")->description("Show this and exit");
  app.get_option("--version")->description("Show the version and exit");

  app.add_option("PATH", arguments.paths,
                 ".npy files, directories (walked recursively, in the order of names) and globs")
      ->type_name("");
  std::string stats = kStatsByDefault, on = "auto", device, precision = "high", format, budget;
  app.add_option("--stats", stats, "What to compute, e.g. max,nan-count; or all")
      ->type_name("LIST");
  app.add_option("--on", on,
                 "auto, host or device. device fails rather than compute elsewhere; md5 is host "
                 "work always")
      ->type_name("WHERE");
  app.add_option("--device", device,
                 "The OpenCL device to use, numbered as in `tensorstat devices`")
      ->type_name("P:D");
  app.add_option(
         "--precision", precision,
         "high: avg and l2norm exact, rounded once; low: sums held in the tensor's own type")
      ->type_name("high|low");
  app.add_option("--format", format,
                 "table, csv, json or ndjson; by default what -o ends in, or table")
      ->type_name("FORMAT");
  app.add_option("-o,--output", arguments.output, "Write there, whole or not at all, not to stdout")
      ->type_name("FILE");
  app.add_option("--budget", budget,
                 "Most device memory to take, e.g. 512M (K, M or G: powers of 1024)")
      ->type_name("BYTES");
  app.add_flag("--bfloat16", arguments.void_is_bfloat16,
               "Two-byte voids (<V2, as ml_dtypes writes them) are bfloat16");
  app.add_flag("--explain", arguments.explain,
               "Say where each statistic was computed and why, and the device memory taken");
  const CLI::App* devices = app.add_subcommand(
      "devices", "List the OpenCL platforms and devices, and what bars one from use");
  DumpArguments dumped;
  const CLI::App* dump = add_dump_command(app, dumped);

  try {
    app.parse(argc, argv);
    arguments.list_devices = devices->parsed();
    if (dump->parsed()) arguments.dump = std::move(dumped);
    if (arguments.list_devices || arguments.dump) return arguments;
    if (arguments.paths.empty()) {
      throw CLI::ValidationError("nothing to read: name a file, a directory or a glob");
    }
    auto categories = categories_from(stats);
    if (!categories) throw CLI::ValidationError("--stats", categories.error().message);
    arguments.request.categories = *std::move(categories);
    arguments.request.on =
        choose<On>("--on", on, {{"auto", On::kAuto}, {"host", On::kHost}, {"device", On::kDevice}});
    arguments.request.precision = choose<Precision>(
        "--precision", precision, {{"high", Precision::kHigh}, {"low", Precision::kLow}});
    arguments.format = format.empty() ? format_for(arguments.output)
                                      : choose<Format>("--format", format,
                                                       {{"table", Format::kTable},
                                                        {"csv", Format::kCsv},
                                                        {"json", Format::kJson},
                                                        {"ndjson", Format::kNdjson}});
    if (!device.empty() &&
        !parse_device(device, arguments.meter.platform, arguments.meter.device)) {
      throw CLI::ValidationError("--device",
                                 "'" + device + "' is not PLATFORM:DEVICE, such as 0:0");
    }
    if (!budget.empty()) {
      arguments.meter.budget_bytes = bytes_from(budget);
      if (!arguments.meter.budget_bytes) {
        throw CLI::ValidationError(
            "--budget", "'" + budget + "' is not a number of bytes, such as 1000000 or 512M");
      }
    }
    return arguments;
  } catch (const CLI::Success& answered) {  // --help, --version
    return app.exit(answered);
  } catch (const CLI::ParseError& error) {
    std::cerr << "tensorstat: " << error.what() << "\nTry 'tensorstat --help'.\n";
    return kUsage;
  }
}

}  // namespace tensorstat::cli
