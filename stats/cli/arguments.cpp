#include "stats/cli/arguments.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "stats/files/shown.hpp"
#include "stats/rows/column.hpp"

namespace tensorstat::cli {
namespace {

constexpr const char* kStatsByDefault =
    "max,min,avg,l2norm,count,nan count,negative inf count,positive inf count,zero count";

constexpr const char* kExamples = R"(Examples:
  tensorstat weights.npy                          what is in it, at a glance
  tensorstat run/rank_0 --stats max,min,l2norm    every tensor below a directory
  tensorstat run --stats all -o statistic.csv     MindSpore's columns, for a spreadsheet
  tensorstat run -o all.csv --columns path,rank,iteration   the same of a tree, with where each row is from
  tensorstat 'grad.*.npy' --format json | jq '.tensors[] | select(.stats["nan count"] > 0) | .path'
  tensorstat run --fail-on 'nan,inf,absmax>65504' && echo clean    exit status 1 where a tensor is not
  tensorstat huge.npy --on device --budget 512M --explain
  tensorstat dump --config data_dump.json run     what MindSpore would have written of them
  tensorstat run/rank_0/net/0/1/statistic.csv     rows that were written before, of any dialect
  tensorstat convert statistic.csv -o ours.csv --to ours   the same rows in another dialect
  tensorstat devices                              what there is to compute on
)";

constexpr const char* kAfterwards =
    R"(Statistics: max, min, avg, count, negative zero count (elements below 0), positive zero count
(above 0), nan count, negative inf count, positive inf count, zero count, md5, l2norm: these are
`all`; and hash, a SHA-1. nan-count and nan_count mean the same as "nan count".

Rows: a .csv is a file of rows, such as a statistic.csv of MindSpore or msprobe, or CANN's csv of an
operator's run. It is shown with the statistics that it has; nothing is measured.

Paths: in a glob ** stands for any number of folders: 'run/**/grad.*.npy'. Folders named dump,
devices or convert are read as ./dump and so on, because these words are subcommands.

--fail-on: a list of nan, inf and comparisons of a statistic with a number (> >= < <= == !=). What it
needs is measured, whatever --stats shows. NaN is neither above nor below a number: name nan, too.

Exit status: 0 done; 1 done, and a tensor meets a condition of --fail-on; 2 wrong usage; 3 some input
could not be read (the others are done and written); 4 --on device was asked for and no device can do
it; 5 the results could not be written. An error wins over a finding, as with grep.)";

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

// "0:1"
bool parse_device(std::string_view text, int& platform, int& device) {
  const std::size_t colon = text.find(':');
  return colon != text.npos && parse_whole(text.substr(0, colon), platform) &&
         parse_whole(text.substr(colon + 1), device) && platform >= 0 && device >= 0;
}

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

const Choices<Format> kFormats = {
    {"table", Format::kTable}, {"csv", Format::kCsv}, {"json", Format::kJson}, {"ndjson", Format::kNdjson}};
const Choices<Format> kExtensions = {{".csv", Format::kCsv},
                                     {".json", Format::kJson},
                                     {".ndjson", Format::kNdjson},
                                     {".jsonl", Format::kNdjson},
                                     {".txt", Format::kTable}};

// What `output` ends in says the format; a name without an extension, such as /dev/stdout, is a table's.
Format format_for(const std::string& output) {
  std::string known;
  for (const auto& [extension, format] : kExtensions) {
    if (output.ends_with(extension)) return format;
    known.append(known.empty() ? "" : ", ").append(extension);
  }
  const std::string extension = std::filesystem::path(output).extension().string();
  if (extension.empty()) return Format::kTable;
  throw CLI::ValidationError(
      "--output", "no format has the extension '" + extension + "': end the name in one of " + known +
                      ", or say --format");
}

// An option whose values are words. A value that is none of them is an error that lists them.
template <typename T>
CLI::Option* add_choice(CLI::App& app, const std::string& option, T& value, const Choices<T>& choices,
                        const std::string& help) {
  const auto take = [&value, choices](const std::string& word) {
    for (const auto& [name, meaning] : choices) {
      if (name == word) value = meaning;
    }
  };
  return app.add_option_function<std::string>(option, take, help)->check(CLI::IsMember(choices).description(""));
}

const CLI::Validator begins_with_digit(
    [](const std::string& text) {
      const bool is_right = !text.empty() && text[0] >= '0' && text[0] <= '9';
      return is_right ? "" : "'" + text + "' is not a number of bytes, such as 1000000 or 512M";
    },
    "");

// What stands before a subcommand belongs to the command without one, and would do nothing.
void refuse_unused_options(const CLI::App& app, const std::string& subcommand) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const bool is_path = option->get_positional();
    throw CLI::ValidationError((is_path ? "the path " + option->results().front() : option->get_name()) +
                               " does nothing with `tensorstat " + subcommand + "`; a file or folder named " +
                               subcommand + " is named ./" + subcommand);
  }
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
                 ".npy, .npz and .safetensors files, .csv files of rows, directories (walked recursively, layer.2 before layer.10) and "
                 "globs (*, ?, [], **)")
      ->type_name("");
  std::string stats = kStatsByDefault, device, columns, fail_on;
  std::optional<Format> format;
  app.add_option("--stats", stats, "What to compute, e.g. max,nan-count; or all")
      ->type_name("LIST");
  add_choice(app, "--on", arguments.request.on, {{"auto", On::kAuto}, {"host", On::kHost}, {"device", On::kDevice}},
             "auto, host or device. device fails rather than compute elsewhere; md5 and hash are always "
             "host work")
      ->type_name("WHERE");
  app.add_option("--device", device,
                 "The OpenCL device to use, numbered as in `tensorstat devices`")
      ->type_name("P:D");
  add_choice(app, "--precision", arguments.request.precision, {{"high", Precision::kHigh}, {"low", Precision::kLow}},
             "high: avg and l2norm exact, rounded once; low: sums held in the tensor's own type")
      ->type_name("high|low");
  add_choice(app, "--format", format, {kFormats.begin(), kFormats.end()},
             "table, csv, json or ndjson; by default what -o ends in (.csv, .json, .ndjson, .jsonl, .txt), or table")
      ->type_name("FORMAT");
  app.add_option("--columns", columns,
                 "Further columns of a csv, after the others: path; rank, graph and iteration of a dump's folders; "
                 "tensor, its name in a container")
      ->type_name("LIST");
  app.add_option("-o,--output", arguments.output,
                 "Write there, whole or not at all, not to stdout; a file that is there keeps its mode")
      ->type_name("FILE");
  app.add_option("--budget", arguments.meter.budget_bytes,
                 "Most device memory to take, e.g. 512M (K, M, G, T: powers of 1024)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->transform(begins_with_digit)  // before that: AsSizeValue takes -1 for 2^64-1 and M for 0
      ->type_name("BYTES");
  app.add_flag("--bfloat16", arguments.void_is_bfloat16,
               "Two-byte voids (<V2, as ml_dtypes writes them) are bfloat16");
  app.add_option("--fail-on", fail_on,
                 "Exit with status 1 where a tensor meets one of these, e.g. 'nan,inf,absmax>65504'")
      ->type_name("LIST");
  app.add_flag("--explain", arguments.explain,
               "Say where each statistic was computed and why, and the device memory taken");
  const CLI::App* devices = app.add_subcommand(
      "devices", "List the OpenCL platforms and devices, and what bars one from use");
  DumpArguments dumped;
  const CLI::App* dump = add_dump_command(app, dumped);
  ConvertArguments converted;
  const CLI::App* convert = add_convert_command(app, converted);

  try {
    app.parse(argc, argv);
    for (const CLI::App* subcommand : app.get_subcommands()) refuse_unused_options(app, subcommand->get_name());
    arguments.list_devices = devices->parsed();
    if (dump->parsed()) arguments.dump = std::move(dumped);
    if (convert->parsed()) arguments.convert = std::move(converted);
    if (arguments.list_devices || arguments.dump || arguments.convert) return arguments;
    if (arguments.paths.empty()) {
      throw CLI::ValidationError("nothing to read: name a file, a directory or a glob");
    }
    auto categories = categories_from(stats);
    if (!categories) throw CLI::ValidationError("--stats", categories.error().message);
    arguments.request.categories = *std::move(categories);
    arguments.stats_are_default = app.count("--stats") == 0;
    if (app.count("--fail-on") != 0) {
      auto conditions = conditions_from(fail_on);
      if (!conditions) throw CLI::ValidationError("--fail-on", conditions.error().message);
      arguments.fail_on = *std::move(conditions);
    }
    arguments.format = format ? *format : format_for(arguments.output);
    if (!columns.empty()) {
      if (arguments.format != Format::kCsv) {
        throw CLI::ValidationError("--columns", "only a csv has them; a table and JSON say the path always");
      }
      auto names = further_columns_from(columns);
      if (!names) throw CLI::ValidationError("--columns", names.error().message);
      arguments.columns = *std::move(names);
    }
    if (!device.empty() &&
        !parse_device(device, arguments.meter.platform, arguments.meter.device)) {
      throw CLI::ValidationError("--device",
                                 "'" + device + "' is not PLATFORM:DEVICE, such as 0:0");
    }
    return arguments;
  } catch (const CLI::Success& answered) {  // --help, --version
    return app.exit(answered);
  } catch (const CLI::ParseError& error) {
    std::cerr << "tensorstat: " << printable(error.what()) << "\nTry 'tensorstat --help'.\n";
    return kUsage;
  }
}

}  // namespace tensorstat::cli
