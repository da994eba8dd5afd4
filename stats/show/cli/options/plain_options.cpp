#include "stats/show/cli/options/plain_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "stats/data/rows/column.hpp"
#include "stats/show/cli/devices_command.hpp"
#include "stats/show/cli/options/options.hpp"

namespace tensorstat::cli {
namespace {

const Choices<Format> kFormats = {{"table", Format::kTable},
                                  {"csv", Format::kCsv},
                                  {"json", Format::kJson},
                                  {"ndjson", Format::kNdjson},
                                  {"md", Format::kMarkdown}};
const Choices<Format> kExtensions = {{".csv", Format::kCsv},       {".json", Format::kJson},
                                     {".ndjson", Format::kNdjson}, {".jsonl", Format::kNdjson},
                                     {".md", Format::kMarkdown},   {".txt", Format::kTable}};

// The file name's extension decides the format. A name without one, such as /dev/stdout, gets a table.
Format format_for(const std::string& output) {
  if (const auto format = format_by_extension(output)) return *format;
  std::string known;
  for (const auto& [extension, format] : kExtensions) known.append(known.empty() ? "" : ", ").append(extension);
  const std::string extension = std::filesystem::path(output).extension().string();
  if (extension.empty()) return Format::kTable;
  refuse("--output",
         "no format has the extension '" + extension + "': end the name in one of " + known + ", or say --format");
}

const Check begins_with_digit = [](const std::string& text) {
  const bool is_right = !text.empty() && text[0] >= '0' && text[0] <= '9';
  return is_right ? "" : "'" + text + "' is not a number of bytes, such as 1000000 or 512M";
};

const Check is_whole_number =
    [](const std::string& text) {  // CLI11 parses -1, and numbers that are too long, as 2^64 - 1
      std::uint64_t number = 0;
      const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
      const bool is_right = problem == std::errc() && end == text.data() + text.size();
      return is_right ? "" : "'" + text + "' is not a whole number from 0 to 2^64 - 1";
    };

const Check is_cast_scale = [](const std::string& text) {
  double scale = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), scale);
  const bool is_right = problem == std::errc() && end == text.data() + text.size() && std::isfinite(scale) && scale > 0;
  return is_right ? "" : "'" + text + "' is no finite number above 0";
};

template <typename T>
T parsed(const std::string& option, Result<T> value) {
  if (!value) refuse(option, value.error().message);
  return *std::move(value);
}

}  // namespace

std::optional<Format> format_by_extension(const std::string& output) {
  const auto entry = std::ranges::find_if(kExtensions, [&](const auto& each) { return output.ends_with(each.first); });
  return entry == kExtensions.end() ? std::nullopt : std::optional(entry->second);
}

bool PlainOptions::is_given(const std::string& option) const { return app_ && app_->is_given(option); }

// One list, in the order of --help: the groups of `uses` take turns in it. Not a table of rows, because the options
// differ in what they fill, what they check and what they suggest.
void PlainOptions::declare(App app, unsigned uses) {
  app_ = app;
  if (uses & kFiles) {
    app.add_option("PATH", arguments_.paths,
                   ".npy, .npz, .safetensors, .gguf, .onnx, .h5, torch.save's .pt, MindSpore's .ckpt and Ascend's dump "
                   "files, a model's index of shards, "
                   ".csv files of rows, "
                   "directories (walked recursively for tensors, layer.2 before layer.10, or else for rows) and globs "
                   "(*, ?, [], **)")
        .type_name("");
  }
  if (uses & kStats) {
    std::vector<std::string> statistics{"all"};
    for (const Category category : every_category()) statistics.emplace_back(name(category));
    for (const Category category : usual_quantiles()) statistics.emplace_back(name(category));
    app.add_option("--stats", stats_, "What to compute, e.g. max,nan-count; or all")
        .type_name("LIST")
        .suggest_list(statistics);
  }
  if (uses & kShows) {
    app.add_option("--fail-on", fail_on_,
                   "Exit with status 1 if a tensor meets one of these rules, e.g. 'nan,inf,absmax>65504'")
        .type_name("LIST");
    app.add_option("--where", where_, "Only tensors that meet this rule, e.g. 'nan-count > 0 and dtype == float16'")
        .type_name("RULE");
    app.add_option(
           "--sort", sort_,
           "The greatest of this first, e.g. l2norm; with a leading - the reverse: the least first, and NaN last")
        .type_name("NAME");
    app.add_option("--top", top_, "Show no more than the first N").check(is_whole_number).type_name("N");
  }
  if (uses & kMeasures) {
    app.add_option("--by", by_,
                   "A row for each index of these axes, e.g. 0 or 0,-1, or for each block of a row, e.g. block=128")
        .type_name("AXES");
  }
  if (uses & kLooks) {
    app.add_flag("--head", arguments_.head_only, "Show only names, dtypes, shapes and sizes; no element is read");
  }
  if (uses & kShows) {
    add_choice(app, "--format", format_, {kFormats.begin(), kFormats.end()},
               "table, csv, json, ndjson or md (Markdown); by default by the extension of -o (.csv, .json, .ndjson, "
               ".jsonl, .md, .txt), or table")
        .type_name("FORMAT");
    app.add_option(
           "-o,--output", arguments_.output,
           "Write to this file, whole or not at all, instead of stdout; an existing file keeps its mode, and an input "
           "is not replaced")
        .check(names_output())
        .type_name("FILE");
  }
  if (uses & kComputes) {
    add_choice(
        app, "--on", arguments_.request.on, {{"auto", On::kAuto}, {"host", On::kHost}, {"device", On::kDevice}},
        "auto, host or device. With device, an error if the device cannot compute it; md5 and hash always run on "
        "the host")
        .type_name("WHERE");

    app.add_option("--device", device_, "The OpenCL device to use, numbered as in `tensorstat devices`")
        .type_name("P:D")
        .group(kMoreOptions);
  }
  if (uses & kMeasures) {
    add_choice(app, "--precision", arguments_.request.precision, {{"high", Precision::kHigh}, {"low", Precision::kLow}},
               "high: avg and l2norm exact, rounded once; low: sums held in the tensor's own type")
        .type_name("high|low")
        .group(kMoreOptions);
    app.add_option("--scale", arguments_.request.cast_scale,
                   "Multiply the elements by this before casts are counted, e.g. e4m3fn-underflow of x * 0.5")
        .check(is_cast_scale)
        .type_name("NUMBER")
        .group(kMoreOptions);
  }
  if (uses & kShows) {
    std::vector<std::string> further;
    for (const Column& column : all_further_columns()) further.emplace_back(column.name);
    app.add_option("--columns", columns_,
                   "Further columns of a csv, after the others: path; rank, graph and iteration of a "
                   "dump's folders; tensor, its name in a container; format, if the rows have it")
        .type_name("LIST")
        .group(kMoreOptions)
        .suggest_list(further);
  }
  if (uses & kComputes) {
    app.add_option("--budget", arguments_.meter.budget_bytes,
                   "Limit for device memory, e.g. 512M (K, M, G, T: powers of 1024)")
        .as_size()
        .check_first(begins_with_digit)  // checked first, because AsSizeValue parses -1 as 2^64-1 and M as 0
        .type_name("BYTES")
        .group(kMoreOptions);
  }
  if (uses & kFiles) {
    add_choice(
        app, "--order", arguments_.order,
        {{"given", FileOrder::kGiven},
         {"name", FileOrder::kName},
         {"time", FileOrder::kTime},
         {"size", FileOrder::kSize}},
        "The files of all arguments: as given, by name, by time (the oldest first) or by size (the largest first)")
        .type_name("ORDER")
        .group(kMoreOptions);
  }
  if (uses & kComputes) {
    app.add_option("-j,--threads", arguments_.meter.threads,
                   "Threads of the host for reading and computing; by default one per core")
        .between(1u, 1024u)
        .type_name("N")
        .group(kMoreOptions);
  }
  app.add_flag("-q,--quiet", arguments_.is_quiet, "No progress and no summary on stderr, only errors and warnings")
      .group(kMoreOptions);
  if (uses & kComputes) {
    app.add_flag("-v,--verbose", arguments_.is_verbose, "Show the messages of the library on stderr")
        .group(kMoreOptions);
  }
  if (uses & kShows) {
    add_choice(app, "--color", arguments_.color,
               {{"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}},
               "NaN and Inf of a table in red: auto (on a terminal, unless NO_COLOR is set or TERM is dumb; with "
               "CLICOLOR_FORCE=1 everywhere), always or never")
        .type_name("WHEN")
        .group(kMoreOptions);
  }
  if (uses & kFiles) {
    std::vector<std::string> dtypes;
    for (int i = 0; i < kDtypeCount; ++i) dtypes.emplace_back(name(static_cast<Dtype>(i)));

    app.add_option("--dtype", raw_dtype_, "The files have no header: elements of this dtype, little-endian")
        .type_name("DTYPE")
        .group(kMoreOptions)
        .suggest_list(dtypes);
    app.add_option("--shape", raw_shape_,
                   "Their shape, e.g. 2,3, in C order; without it one dimension. A pipe needs it")
        .type_name("N,N...")
        .group(kMoreOptions);
    app.add_flag("--bfloat16", arguments_.void_is_bfloat16,
                 "Two-byte voids (<V2, as ml_dtypes writes them) are bfloat16")
        .group(kMoreOptions);
  }
  if (uses & kLooks) {
    app.add_flag("--explain", arguments_.explain,
                 "Show where each statistic was computed and why, and the device memory taken")
        .group(kMoreOptions);
  }
}

void PlainOptions::read_raw() {
  if (raw_dtype_.empty() && raw_shape_.empty()) return;
  if (raw_dtype_.empty()) refuse("--shape", "requires --dtype: without it files have a header");
  const auto dtype = dtype_from(raw_dtype_);
  if (!dtype) refuse("--dtype", "'" + raw_dtype_ + "' is no dtype; float32 is one");
  arguments_.raw = RawTensor{*dtype};
  if (!is_given("--shape")) return;
  Shape shape;
  for (const std::string& each : split(raw_shape_, ',')) {
    const Value number = number_from(each);
    const auto* length = std::get_if<std::uint64_t>(&number);
    if (!length) refuse("--shape", "'" + raw_shape_ + "' is no shape, such as 2,3");
    shape.push_back(*length);
  }
  arguments_.raw->shape = shape;
}

void PlainOptions::read_by() {
  if (!is_given("--by")) return;
  const auto number = [&](std::string_view text) {
    std::int64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault == std::errc() && end == text.data() + text.size()) return value;
    refuse("--by",
           "'" + by_ + "' is no list of axes, such as 0 or 0,-1, and no block, such as block=128 or 0,block=128");
  };
  constexpr std::string_view kBlock = "block=";
  arguments_.by.emplace();
  const std::vector<std::string> parts = split(by_, ',');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 < parts.size() || !parts[i].starts_with(kBlock)) {
      arguments_.by->axes.push_back(number(parts[i]));
      continue;
    }
    const std::int64_t elements = number(std::string_view(parts[i]).substr(kBlock.size()));
    if (elements <= 0) refuse("--by", "a block needs at least one element");
    arguments_.by->block_elements = static_cast<std::uint64_t>(elements);
  }
}

void PlainOptions::read_questions() {
  read_by();
  if (is_given("--fail-on")) arguments_.fail_on = parsed("--fail-on", Rule::parse_list(fail_on_));
  if (is_given("--where")) arguments_.where = parsed("--where", Rule::parse(where_));
  if (is_given("--sort")) {
    const bool is_reversed = sort_.starts_with('-');
    arguments_.sort = {parsed("--sort", subject_from(std::string_view(sort_).substr(is_reversed))), is_reversed};
  }
  if (is_given("--top")) arguments_.top = top_;
  if (!arguments_.head_only) return;
  const std::pair<const char*, bool> readers[] = {
      {"--stats", is_given("--stats")},
      {"--by", arguments_.by.has_value()},
      {"--fail-on", !arguments_.fail_on.empty()},
      {"--where", arguments_.where && !arguments_.where->needed().empty()},
      {"--sort", arguments_.sort && !needed_by(arguments_.sort->subject).empty()}};
  for (const auto& [option, reads_elements] : readers) {
    if (reads_elements) refuse("--head", std::string("cannot be combined with ") + option + ": it reads no element");
  }
}

Arguments PlainOptions::take() {
  read_questions();
  read_raw();
  arguments_.format = format_ ? *format_ : format_for(arguments_.output);
  const bool is_on_screen =
      arguments_.format == Format::kTable && arguments_.output.empty() && screen_of(STDOUT_FILENO).has_value();
  if (!is_given("--stats")) stats_ = is_on_screen ? kStatsOnScreen : kStatsByDefault;
  if (!arguments_.head_only) {
    arguments_.request.categories = parsed("--stats", categories_from(stats_));
  }
  arguments_.stats_are_default = !is_given("--stats");
  if (!columns_.empty()) {
    if (arguments_.format != Format::kCsv) {
      refuse("--columns", "only a csv has them; a table and JSON always show the path");
    }
    arguments_.columns = parsed("--columns", further_columns_from(columns_));
  }
  if (is_given("--scale") && std::ranges::none_of(arguments_.request.categories, counts_casts)) {
    refuse("--scale", "no statistic that counts casts is asked for, such as e4m3fn-underflow");
  }
  add_telling_columns(arguments_);
  if (!device_.empty()) {
    const Status named = name_device(device_, arguments_.meter);
    if (!named) refuse("--device", named.error().message);
  }
  return std::move(arguments_);
}

void add_telling_columns(Arguments& arguments) {
  if (arguments.format != Format::kCsv) return;
  const auto add = [&](const char* column) {
    if (std::ranges::count(arguments.columns, column) == 0) arguments.columns.emplace_back(column);
  };
  if (arguments.by) add("index");
  if (counts_scaled_casts(arguments.request)) add("cast_scale");
}

}  // namespace tensorstat::cli
