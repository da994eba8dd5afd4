#include "stats/job/dump/mindspore/config.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <unordered_set>
#include <utility>

#include "stats/job/dump/mindspore/iterations.hpp"
#include "stats/job/dump/mindspore/kernel_choice.hpp"
#include "stats/job/dump/mindspore/mindspore_output.hpp"

namespace tensorstat {
namespace {

using Kind = JsonValue::Kind;

constexpr auto kAnyNatural = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kNaturals = "a whole number from 0 to 4294967295";
constexpr std::string_view kNameCharacters = "0123456789-_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

enum class DumpMode : std::uint8_t { kAll = 0, kKernels = 1, kSetDump = 2 };

class FlaggedChoice : public OperatorChoice {
 public:
  bool wants(const AskedOperator& op) const override {
    if (op.set_dump) has_any_.store(true, std::memory_order_relaxed);
    return op.set_dump;
  }
  std::vector<std::string> unused() const override {
    if (has_any_) return {};
    return {"dump_mode 2, which dumps the operators that the backend flags with set_dump"};
  }

 private:
  mutable std::atomic<bool> has_any_{false};
};

class ConfigParser {
 public:
  ConfigParser(const ConfigSetting& setting, Notices& notices)
      : diagnostic_data_path_(setting.diagnostic_data_path), callers_path_(setting.callers_path), notices_(notices) {}

  DumpConfig run(const JsonValue& root) {
    ConfigSection all(root, "data_dump.json");
    const JsonValue common = all.get("common_dump_settings", "an object { }");
    if (!common.is(Kind::kObject)) all.refuse("common_dump_settings", "an object { }");
    const auto e2e = all.find("e2e_dump_settings");
    if (e2e && !e2e->is(Kind::kObject)) all.refuse("e2e_dump_settings", "an object { }");
    read_common(ConfigSection(common, "common_dump_settings"), e2e.has_value());
    if (e2e) read_e2e(ConfigSection(*e2e, "e2e_dump_settings"));
    correct();
    choose_operators();
    config_.form = mindspore_form();
    config_.start_is_of_any_iteration = true;
    all.warn_about_unknown_keys(notices_);
    return std::move(config_);
  }

 private:
  void read_common(ConfigSection common, bool has_e2e) {
    dump_mode_ = static_cast<DumpMode>(
        common.natural("dump_mode", 2, "0 (every operator), 1 (those of kernels), 2 (those of set_dump)", {}));
    read_path(common);
    config_.net_name = common.text("net_name", kNetName, {});
    if (config_.net_name.empty() || config_.net_name.size() > 255 ||
        config_.net_name.find_first_not_of(kNameCharacters) != std::string::npos) {
      common.refuse("net_name", kNetName);
    }
    read_iteration(common);
    config_.input_output =
        static_cast<InputOutput>(common.natural("input_output", 2, "0 (both), 1 (inputs), 2 (outputs)", {}));
    read_kernels(common);
    read_support_device(common);
    read_op_debug_mode(common);
    config_.saved_data = static_cast<SavedData>(common.choice("saved_data", {"tensor", "statistic", "full"}));
    config_.initial_iteration = common.natural("initial_iteration", kAnyNatural, kNaturals, 0);
    read_file_format(common, has_e2e);
    read_statistic_category(common);
    common.warn_about_unknown_keys(notices_);
  }

  void read_path(ConfigSection& common) {
    constexpr std::string_view kAllowed =
        "an absolute path of letters, digits, - _ and /; or \"\", for debug_dump in the folder "
        "that MS_DIAGNOSTIC_DATA_PATH names";
    config_.path = common.text("path", kAllowed, "");
    if (config_.path.empty() && !callers_path_.empty()) {
      config_.path = callers_path_;
      return;
    }
    const bool from_environment = config_.path.empty();
    if (from_environment && diagnostic_data_path_.empty()) {
      throw Refusal{
          "common_dump_settings.path is empty, and so is MS_DIAGNOSTIC_DATA_PATH; set "
          "one of them"};
    }
    if (from_environment) config_.path = std::string(diagnostic_data_path_) + "/debug_dump";
    const auto wrong = config_.path.find_first_not_of(std::string(kNameCharacters) + '/') != std::string::npos;
    if (!wrong && config_.path.front() == '/') return;
    if (!from_environment) common.refuse("path", kAllowed);
    throw Refusal{"MS_DIAGNOSTIC_DATA_PATH is " + excerpt(diagnostic_data_path_) +
                  "; allowed: an absolute path of letters, digits, - _ and /"};
  }

  void read_iteration(ConfigSection& common) {
    constexpr std::string_view kAllowed =
        "a text: \"all\", or steps and ranges between |, as in "
        "\"0|5-8|100-120\"";
    auto iteration = Iterations::parse(common.text("iteration", kAllowed, {}));
    if (!iteration) common.refuse("iteration", kAllowed);
    config_.iteration = iteration->steps();
    if (const auto* part = iteration->useless_part()) {
      notices_.warn_once(
          "iteration", "common_dump_settings.iteration: the part " + excerpt(part->substr(0, 80)) + " selects no step");
    }
  }

  void read_kernels(ConfigSection& common) {
    constexpr std::string_view kAllowed = "a list of texts, each an operator's full name, a type, or name-regex(...)";
    const JsonValue list = common.array("kernels", kAllowed);
    if (dump_mode_ != DumpMode::kKernels) return;
    std::vector<std::string> entries;
    std::unordered_set<std::string_view> known;
    for (const JsonValue entry : list) {
      if (!entry.is(Kind::kString)) common.refuse("kernels", kAllowed);
      if (known.insert(entry.text()).second) {
        entries.emplace_back(entry.text());
      } else {
        notices_.warn_once("kernels twice", "common_dump_settings.kernels has " + excerpt(entry) + " more than once");
      }
    }
    auto kernels = OperatorFilter::parse(entries);
    if (!kernels) throw Refusal{"common_dump_settings.kernels: " + kernels.error().message};
    kernels_ = *std::move(kernels);
  }

  void read_support_device(ConfigSection& common) {
    constexpr std::string_view kAllowed = "a list of device numbers, as in [0,1,2,3,4,5,6,7]";
    auto& devices = config_.support_device.emplace();
    if (!common.find("support_device")) {
      devices = {0, 1, 2, 3, 4, 5, 6, 7};
      return;
    }
    for (const JsonValue device : common.array("support_device", kAllowed)) {
      if (!device.is(Kind::kNatural) || device.natural() > kAnyNatural) {
        common.refuse("support_device", kAllowed);
      }
      devices.push_back(static_cast<std::uint32_t>(device.natural()));
    }
    std::sort(devices.begin(), devices.end());
    const auto repeated = std::unique(devices.begin(), devices.end());
    if (repeated == devices.end()) return;
    devices.erase(repeated, devices.end());
    notices_.warn_once("support_device", "common_dump_settings.support_device has a device more than once");
  }

  void read_op_debug_mode(ConfigSection& common) {
    const auto mode =
        common.natural("op_debug_mode", 4, "0 (normal), 3 (operators that overflow), 4 (those that fail)", 0);
    config_.op_debug_mode = mode == 0 ? DebugMode::kNormal : mode == 4 ? DebugMode::kException : DebugMode::kOverflow;
    if (mode == 1 || mode == 2) correction("op_debug_mode", std::to_string(mode), "3", "of old");
    config_.overflow_number = common.natural("overflow_number", kAnyNatural, kNaturals, 0);
    if (common.find("overflow_number") && config_.op_debug_mode != DebugMode::kOverflow) {
      common.refuse("overflow_number", "nothing, unless op_debug_mode is 3");
    }
  }

  void read_file_format(ConfigSection& common, bool has_e2e) {
    const auto written = common.find("file_format");
    if (has_e2e) {
      if (written) {
        notices_.warn_once("file_format",
                           "common_dump_settings.file_format is not read where "
                           "e2e_dump_settings is given: files are npy");
      }
      return;
    }
    config_.unknown_id = 65535;  // without e2e_dump_settings it is a dump of O2; its documents give this number
    if (common.choice("file_format", {"bin", "npy"}) == 1) return;
    if (config_.saves_statistics()) {
      throw Refusal{"common_dump_settings.saved_data is " +
                    std::string(config_.saved_data == SavedData::kFull ? "\"full\"" : "\"statistic\"") +
                    ", which without e2e_dump_settings needs file_format \"npy\""};
    }
    config_.saves_runs = true;
    config_.trans_flag = false;  // Ascend's dump files have the device's formats
  }

  void read_statistic_category(ConfigSection& common) {
    config_.statistic_category = {Category::kMax, Category::kMin, Category::kL2norm};
    const auto list = common.find("statistic_category");
    if (!list || !config_.saves_statistics()) return;
    std::string known;
    for (const Category category : every_category()) {
      known += (known.empty() ? "" : ", ") + excerpt(name(category));
    }
    known += ", \"pN\", 0 <= N <= 100";
    known = "a list of at most " + std::to_string(kMostCategories) + " of " + known + ", \"hash:md5\", \"hash:sha1\"";
    if (!list->is(Kind::kArray) || list->size() > kMostCategories) {
      common.refuse("statistic_category", known);
    }
    config_.statistic_category.clear();
    std::string unknown;
    for (const JsonValue entry : *list) {
      const auto category = entry.is(Kind::kString) ? category_of(entry.text()) : std::nullopt;
      if (category) {
        config_.statistic_category.push_back(*category);
      } else {
        unknown += (unknown.empty() ? "" : ", ") + excerpt(entry);
      }
    }
    if (unknown.empty()) return;
    throw Refusal{"common_dump_settings.statistic_category has " + unknown.substr(0, 1000) + "; allowed: " + known};
  }

  // Later versions of MindSpore add the algorithm to a digest's name.
  static std::optional<Category> category_of(std::string_view name) {
    if (name == "hash:md5") name = "md5";
    if (name == "hash:sha1") name = "hash";
    return category_from(name);
  }

  void read_e2e(ConfigSection e2e) {
    config_.enable = e2e.truth("enable", false);
    config_.trans_flag = e2e.truth("trans_flag", true);
    config_.save_kernel_args = e2e.truth("save_kernel_args", false);
    const bool is_given = e2e.find("stat_calc_mode").has_value();
    config_.on_device = e2e.choice("stat_calc_mode", {"host", "device"}) == 1;
    config_.names_host = is_given && !config_.on_device;
    config_.device_stat_precision_mode =
        e2e.choice("device_stat_precision_mode", {"high", "low"}) == 0 ? Precision::kHigh : Precision::kLow;
    const bool samples = e2e.natural("sample_mode", 1, "0 (whole tensors), 1 (samples)", 0) == 1;
    constexpr std::string_view kSampleNum = "a whole number from 1 to 4294967295";
    if (!samples) {
      static_cast<void>(e2e.find("sample_num"));
    } else if (config_.sample_num = e2e.natural("sample_num", kAnyNatural, kSampleNum, 100); config_.sample_num == 0) {
      e2e.refuse("sample_num", kSampleNum);
    }
    e2e.warn_about_unknown_keys(notices_);
  }

  // The rules between keys, in the order in which MindSpore applies them.
  void correct() {
    const DebugMode mode = config_.op_debug_mode;
    const std::string because = "because op_debug_mode is " + std::to_string(static_cast<int>(mode));
    if (mode != DebugMode::kNormal && dump_mode_ != DumpMode::kAll) {
      correction("dump_mode", std::to_string(static_cast<int>(dump_mode_)), "0", because);
      dump_mode_ = DumpMode::kAll;
    }
    if (mode == DebugMode::kOverflow && config_.input_output != InputOutput::kBoth) {
      correction("input_output", std::to_string(static_cast<int>(config_.input_output)), "0", because);
      config_.input_output = InputOutput::kBoth;
    }
    if (mode == DebugMode::kOverflow && (config_.saves_statistics() || config_.sample_num != 0)) {
      const std::string what = !config_.saves_statistics() ? "samples"
                               : config_.sample_num != 0   ? "statistics and samples"
                                                           : "statistics";
      notices_.warn_once("overflow", what +
                                         " with op_debug_mode 3 are written, though MindSpore's documents allow them "
                                         "only with op_debug_mode 0");
    }
    if (mode == DebugMode::kException) correct_for_exceptions(because);
    if (config_.on_device && config_.saves_tensors()) {
      correction("stat_calc_mode", "device", "host", "because saved_data is not \"statistic\"");
      config_.on_device = false;
    }
    if (config_.on_device && mode == DebugMode::kOverflow) {
      correction("stat_calc_mode", "device", "host", because);
      config_.on_device = false;
    }
    if (config_.save_kernel_args && !config_.enable) {
      correction("save_kernel_args", "true", "false", "because enable is not true");
      config_.save_kernel_args = false;
    }
  }

  void choose_operators() {
    if (dump_mode_ == DumpMode::kKernels) config_.operators = kernel_choice(std::move(kernels_), "kernels");
    if (dump_mode_ == DumpMode::kSetDump) config_.operators = std::make_shared<FlaggedChoice>();
  }

  void correct_for_exceptions(const std::string& because) {
    if (!config_.iteration.all()) {
      correction("iteration", "a selection", "all", because);
      config_.iteration = NumberSet::every();
    }
    if (config_.sample_num != 0) {
      correction("sample_mode", "1", "0", because);
      config_.sample_num = 0;
    }
    if (config_.saves_statistics()) {
      correction("saved_data", "with statistics", "tensor", because);
      config_.saved_data = SavedData::kTensor;
    }
    if (config_.input_output == InputOutput::kOutputs) {
      correction("input_output", "2", "1", because);
    }
    config_.input_output = InputOutput::kInputs;  // a failed operator has no outputs
  }

  void correction(std::string_view key, std::string_view was, std::string_view is, std::string_view because) {
    const std::string name(key);
    notices_.warn_once("corrected " + name, name + " was " + std::string(was) + " and is taken as " + std::string(is) +
                                                ", " + std::string(because));
  }

  static constexpr std::string_view kNetName = "a text of 1 to 255 letters, digits, - and _";
  static constexpr std::size_t kMostCategories = 256;

  std::string_view diagnostic_data_path_, callers_path_;
  Notices& notices_;
  DumpMode dump_mode_ = DumpMode::kAll;
  OperatorFilter kernels_;
  DumpConfig config_;
};

bool is_data_dump(const JsonValue& root) { return root.find("common_dump_settings").has_value(); }

DumpConfig read_mindspore_config(const JsonValue& root, const ConfigSetting& setting, Notices& notices) {
  return ConfigParser(setting, notices).run(root);
}

}  // namespace

const ConfigDialect kMindsporeConfig{"MindSpore's data_dump.json", "common_dump_settings", is_data_dump,
                                     read_mindspore_config};

}  // namespace tensorstat
