#include "stats/job/dump/msprobe/config.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include "stats/job/dump/mindspore/kernel_choice.hpp"
#include "stats/job/dump/mindspore/mindspore_output.hpp"
#include "stats/job/dump/msprobe/api_choice.hpp"
#include "stats/job/dump/msprobe/msprobe_form.hpp"
#include "stats/job/dump/msprobe/settings.hpp"

namespace tensorstat {
namespace {

using Kind = JsonValue::Kind;

// Tasks of msprobe that do not dump tensors, or that use other code of msprobe.
constexpr std::string_view kOtherTasks[] = {"acc_check",      "structure", "diff_check",     "nan_check",
                                            "overflow_check", "run_ut",    "free_benchmark", "grad_probe"};

constexpr std::uint64_t kMostNumber = 1'000'000;
constexpr std::size_t kMostEntries = 1'000'000, kMostPathBytes = 4096;

struct StatisticName {
  std::string_view name;
  Category category;
};
constexpr StatisticName kKernelStatistics[] = {{"max", Category::kMax},
                                               {"min", Category::kMin},
                                               {"mean", Category::kAvg},
                                               {"l2norm", Category::kL2norm},
                                               {"count", Category::kCount},
                                               {"negative zero count", Category::kNegativeZeroCount},
                                               {"zero count", Category::kZeroCount},
                                               {"positive zero count", Category::kPositiveZeroCount},
                                               {"nan count", Category::kNanCount},
                                               {"negative inf count", Category::kNegativeInfCount},
                                               {"positive inf count", Category::kPositiveInfCount},
                                               {"hash", Category::kHash},
                                               {"md5", Category::kMd5}};

std::optional<std::uint64_t> number_in(std::string_view digits) {
  std::uint64_t number = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, number);
  if (fault != std::errc{} || stop != end || number > kMostNumber) return std::nullopt;
  return number;
}

// 3, "3" or "3-5".
std::optional<NumberSet::Range> range_of(const JsonValue& value) {
  if (value.is(Kind::kNatural) && value.natural() <= kMostNumber)
    return NumberSet::Range(value.natural(), value.natural());
  if (!value.is(Kind::kString)) return std::nullopt;
  const std::string_view text = value.text();
  const auto dash = text.find('-');
  const auto first = number_in(text.substr(0, dash));
  const auto last = dash == text.npos ? first : number_in(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return NumberSet::Range(*first, *last);
}

// A key with the value null counts as missing.
class Section : public ConfigSection {
 public:
  using ConfigSection::ConfigSection;

  std::optional<JsonValue> given(std::string_view key) {
    const auto value = find(key);
    return value && !value->is(Kind::kNull) ? value : std::nullopt;
  }

  NumberSet numbers(std::string_view key) {
    constexpr std::string_view kAllowed =
        "a list of numbers from 0 to 1000000 and of ranges, as in [0, \"3\", \"5-8\"]";
    const auto list = given(key);
    if (!list) return NumberSet::every();
    if (!list->is(Kind::kArray) || list->size() > kMostEntries) refuse(key, kAllowed);
    std::vector<NumberSet::Range> ranges;
    for (const JsonValue entry : *list) {
      const auto range = range_of(entry);
      if (!range) refuse(key, kAllowed);
      ranges.push_back(*range);
    }
    return ranges.empty() ? NumberSet::every() : NumberSet(std::move(ranges));
  }

  std::vector<std::string> texts(std::string_view key, std::string_view allowed = "a list of texts") {
    const auto list = given(key);
    if (!list) return {};
    if (!list->is(Kind::kArray) || list->size() > kMostEntries) refuse(key, allowed);
    std::vector<std::string> texts;
    for (const JsonValue entry : *list) {
      if (!entry.is(Kind::kString)) refuse(key, allowed);
      texts.emplace_back(entry.text());
    }
    return texts;
  }

  void refuse_if_given(std::string_view key, std::string_view why) {
    const auto value = given(key);
    if (value && !(value->is(Kind::kArray) && value->size() == 0)) refuse(key, why);
  }
};

class Parser {
 public:
  Parser(const JsonValue& root, const ConfigSetting& setting, Notices& notices)
      : all_(root, "config.json"), setting_(setting), notices_(notices) {}

  DumpConfig run() {
    read_common();
    const auto section = all_.given(settings_.task);
    if (section && !section->is(Kind::kObject)) all_.refuse(settings_.task, "an object { }");
    for (const std::string_view other : {"statistics", "tensor", "exception_dump"}) static_cast<void>(all_.find(other));
    for (const std::string_view other : kOtherTasks) static_cast<void>(all_.find(other));
    const auto empty = parse_json("{}");
    if (!empty) throw Refusal{empty.error().message};
    read_task(Section(section ? *section : empty->root(), settings_.task));
    all_.warn_about_unknown_keys(notices_);
    return std::move(config_);
  }

 private:
  void read_common() {
    read_task_name();
    read_path();
    config_.net_name = "Net";
    config_.keys = {.step = "step", .direction = "data_mode"};
    config_.ranks = all_.numbers("rank");
    config_.iteration = all_.numbers("step");
    if (all_.given("level")) static_cast<void>(all_.choice("level", {"L1", "L0", "mix", "L2", "debug"}));
    settings_.level = all_.given("level") ? all_.text("level", "", {}) : "L1";
    if (settings_.task == "exception_dump" && !is_kernel_level()) {
      all_.refuse("level", "L2, with task \"exception_dump\"");
    }
    is_async_ = truth("async_dump", false);
    config_.enable = !is_async_;
    if (!truth("dump_enable", true)) {
      config_.iteration = NumberSet();
      notices_.warn_once("dump_enable",
                         "dump_enable is false: nothing is dumped. Later changes of the file have no effect");
    }
    settings_.has_extra_info = truth("extra_info", true);
    if (all_.given("precision")) settings_.has_high_precision = all_.choice("precision", {"low", "high"}) == 1;
    if (all_.given("risk_level")) static_cast<void>(all_.choice("risk_level", {"FOCUS", "CORE", "ALL"}));
    static_cast<void>(all_.texts("custom_op_namespaces"));
  }

  bool truth(std::string_view key, bool fallback) { return all_.given(key) ? all_.truth(key, fallback) : fallback; }

  bool is_kernel_level() const { return settings_.level == "L2"; }

  void read_task_name() {
    constexpr std::string_view kAllowed = "\"statistics\", \"tensor\", and with level L2 \"exception_dump\"";
    settings_.task = all_.given("task") ? all_.text("task", kAllowed, {}) : "statistics";
    if (settings_.task == "statistics" || settings_.task == "tensor" || settings_.task == "exception_dump") return;
    const bool is_known = std::ranges::count(kOtherTasks, settings_.task) != 0;
    all_.refuse("task",
                std::string(kAllowed) + (is_known ? "; msprobe's other tasks run in Python, without a backend" : ""));
  }

  // As in msprobe, a path may be relative to the working directory.
  void read_path() {
    constexpr std::string_view kAllowed = "a path of at most 4096 bytes without control characters";
    std::string path = all_.given("dump_path") ? all_.text("dump_path", kAllowed, {}) : "";
    if (path.empty()) path = setting_.callers_path;
    const bool has_control = std::ranges::any_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (path.empty() || path.size() > kMostPathBytes || has_control) all_.refuse("dump_path", kAllowed);
    std::error_code fault;
    const auto absolute = std::filesystem::absolute(path, fault).lexically_normal();
    if (fault)
      throw Refusal{"config.json.dump_path is relative, and the working directory is not known: " + fault.message()};
    config_.path = absolute.string();
    while (config_.path.size() > 1 && config_.path.back() == '/') config_.path.pop_back();
  }

  void read_task(Section task) {
    const auto scope = task.texts("scope", "no text, or two: the names of the first and the last API");
    if (!scope.empty() && scope.size() != 2)
      task.refuse("scope", "no text, or two: the names of the first and the last API");
    if (!scope.empty()) settings_.scope.emplace(scope[0], scope[1]);
    settings_.list = task.texts("list");
    settings_.tensor_list = task.texts("tensor_list");
    if (std::ranges::count(settings_.list, "") + std::ranges::count(settings_.tensor_list, "") != 0) {
      throw Refusal{settings_.task + ": list and tensor_list must not contain an empty text"};
    }
    task.refuse_if_given("slice", "nothing: whole tensors are dumped here");
    task.refuse_if_given("request_id", "nothing: whole tensors are dumped here");
    if (settings_.task == "tensor" && task.given("file_format")) static_cast<void>(task.choice("file_format", {"npy"}));
    if (is_async_ && settings_.task == "tensor" && settings_.list.empty() && settings_.level != "debug") {
      task.refuse("list", "a list that is not empty, because async_dump is true");
    }
    is_kernel_level() ? read_kernels(task) : read_apis(task);
    task.warn_about_unknown_keys(notices_);
  }

  void read_apis(Section& task) {
    read_data_mode(task);
    const auto summary = task.given("summary_mode");
    if (summary && !summary->is(Kind::kString)) {
      task.refuse("summary_mode", "\"statistics\", \"md5\" (a CRC-32), \"xor\"; a list is for level L2");
    }
    if (summary) settings_.summary = static_cast<Summary>(task.choice("summary_mode", {"statistics", "md5", "xor"}));
    if (is_async_ && settings_.summary == Summary::kCrc32) {
      task.refuse("summary_mode", "not \"md5\" (a CRC-32), because async_dump is true");
    }
    for (const std::string_view key : {"device", "precision"}) {
      if (task.given(key)) notices_.warn_once(key, std::string(key) + " of statistics is read with level L2 only");
    }
    settings_.saves_all_tensors = settings_.task == "tensor";
    config_.takes_saved = settings_.level == "debug";
    settings_.has_extra_info &= !config_.takes_saved;
    if (config_.takes_saved && (settings_.scope || !settings_.list.empty() || !settings_.tensor_list.empty())) {
      notices_.warn_once("debug", "with level \"debug\", scope, list and tensor_list are not looked at, as in msprobe");
      settings_.scope.reset();
      settings_.list.clear();
      settings_.tensor_list.clear();
    }
    config_.saved_data = settings_.saves_all_tensors ? SavedData::kFull : SavedData::kStatistic;
    check_scope();
    config_.operators = api_choice(settings_, wants_forward_, wants_backward_);
    config_.form = msprobe_form(std::move(settings_));
  }

  // A scope has two keys of calls, the first and the last, both complete and of the config's level.
  void check_scope() {
    if (!settings_.scope) return;
    for (const std::string& name : {settings_.scope->first, settings_.scope->second}) {
      const ApiName parts = api_name_of("", name);
      const bool is_key = parts.count && parts.key(*parts.count) == name && parts.kind != ApiName::Kind::kGradients;
      const bool is_module = parts.kind == ApiName::Kind::kModule;
      if (is_key && (settings_.level == "mix" || is_module == (settings_.level == "L0"))) continue;
      throw Refusal{
          settings_.task + ".scope has " + excerpt(name) + ", which is no whole name of level " + settings_.level +
          "; allowed: as in \"Functional.conv2d.0.forward\", and of modules \"Module.conv1.Conv2d.forward.0\""};
    }
  }

  void read_data_mode(Section& task) {
    constexpr std::string_view kAllowed =
        "[\"all\"], or a list of at most four of \"forward\", \"backward\", \"input\" and \"output\"";
    const auto modes = task.texts("data_mode", kAllowed);
    const auto has = [&](std::string_view mode) { return std::ranges::count(modes, mode) != 0; };
    for (const std::string& mode : modes) {
      const bool is_known =
          mode == "all" || mode == "forward" || mode == "backward" || mode == "input" || mode == "output";
      if (!is_known || modes.size() > 4 || (mode == "all" && modes.size() != 1)) task.refuse("data_mode", kAllowed);
    }
    const bool every_direction = !has("forward") && !has("backward"), every_io = !has("input") && !has("output");
    wants_forward_ = every_direction || has("forward");
    wants_backward_ = every_direction || has("backward");
    if (!every_io && !has("output")) config_.input_output = InputOutput::kInputs;
    if (!every_io && !has("input")) config_.input_output = InputOutput::kOutputs;
  }

  // Level L2 is MindSpore's own dump of kernels, configured by msprobe.
  void read_kernels(Section& task) {
    config_.form = mindspore_form();
    if (settings_.scope) task.refuse("scope", "nothing with level L2");
    if (!settings_.tensor_list.empty()) task.refuse("tensor_list", "nothing with level L2");
    if (!settings_.list.empty()) {
      auto kernels = OperatorFilter::parse(settings_.list);
      if (!kernels) throw Refusal{settings_.task + ".list: " + kernels.error().message};
      config_.operators = kernel_choice(*std::move(kernels), "list");
    }
    constexpr std::string_view kModes = "one of [\"all\"], [\"input\"] and [\"output\"] with level L2";
    const auto modes = task.texts("data_mode", kModes);
    if (modes.size() > 1) task.refuse("data_mode", kModes);
    if (!modes.empty() && modes[0] != "all" && modes[0] != "input" && modes[0] != "output")
      task.refuse("data_mode", kModes);
    if (!modes.empty() && modes[0] == "input") config_.input_output = InputOutput::kInputs;
    if (!modes.empty() && modes[0] == "output") config_.input_output = InputOutput::kOutputs;
    config_.saved_data = settings_.task == "statistics" ? SavedData::kStatistic : SavedData::kTensor;
    if (settings_.task == "exception_dump") {
      config_.op_debug_mode = DebugMode::kException;
      config_.operators = nullptr;
      config_.input_output = InputOutput::kInputs;
      config_.iteration = NumberSet::every();
    }
    read_kernel_statistics(task);
    if (task.given("device")) {
      config_.on_device = task.choice("device", {"host", "device"}) == 1;
      config_.names_host = !config_.on_device;
    }
    if (task.given("precision") && task.choice("precision", {"high", "low"}) == 1) {
      config_.device_stat_precision_mode = Precision::kLow;
    }
    config_.on_device &= config_.saved_data == SavedData::kStatistic;
  }

  void read_kernel_statistics(Section& task) {
    config_.statistic_category = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};
    const auto summary = task.given("summary_mode");
    std::string allowed = "\"statistics\", \"md5\" (with level L2, a real one), or a list of ";
    for (const auto& [name, category] : kKernelStatistics)
      allowed += (allowed.ends_with(' ') ? "\"" : ", \"") + std::string(name) + '"';
    if (!summary) return;
    std::vector<std::string> names;
    if (!summary->is(Kind::kString)) {
      names = task.texts("summary_mode", allowed);
    } else if (summary->text() == "md5") {
      names = {"md5"};
    } else if (summary->text() != "statistics") {
      task.refuse("summary_mode", allowed);
    }
    if (is_async_ && std::ranges::count(names, "md5") != 0) {
      task.refuse("summary_mode", "no \"md5\", because async_dump is true");
    }
    if (names.empty()) return;
    config_.statistic_category.clear();
    for (const std::string& name : names) {
      const auto known = std::ranges::find(kKernelStatistics, name, &StatisticName::name);
      if (known == std::end(kKernelStatistics)) task.refuse("summary_mode", allowed);
      auto& chosen = config_.statistic_category;
      if (std::ranges::count(chosen, known->category) == 0) chosen.push_back(known->category);
    }
  }

  Section all_;
  const ConfigSetting setting_;
  Notices& notices_;
  MsprobeSettings settings_;
  bool is_async_ = false, wants_forward_ = true, wants_backward_ = true;
  DumpConfig config_;
};

bool is_msprobe(const JsonValue& root) { return root.find("task") || root.find("dump_path"); }

DumpConfig read_msprobe_config(const JsonValue& root, const ConfigSetting& setting, Notices& notices) {
  return Parser(root, setting, notices).run();
}

}  // namespace

const ConfigDialect kMsprobeConfig{"msprobe's config.json", "task and dump_path", is_msprobe, read_msprobe_config};

}  // namespace tensorstat
