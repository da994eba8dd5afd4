// data_dump.json: what a user asked to be dumped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/dump/mindspore/iterations.hpp"
#include "stats/dump/mindspore/operator_filter.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

enum class DebugMode : std::uint8_t { kNormal = 0, kOverflow = 3, kException = 4 };
enum class DumpMode : std::uint8_t { kAll = 0, kKernels = 1, kSetDump = 2 };
enum class InputOutput : std::uint8_t { kBoth = 0, kInputs = 1, kOutputs = 2 };
enum class SavedData : std::uint8_t { kTensor, kStatistic, kFull };

// A config as it is obeyed: defaults filled in, and every correction made that MindSpore makes.
// stats/dump/README.md lists the rules, each with the test that holds it.
struct DumpConfig {
  // common_dump_settings
  DebugMode op_debug_mode = DebugMode::kNormal;
  DumpMode dump_mode = DumpMode::kAll;
  std::string path;  // absolute
  std::string net_name;
  Iterations iteration;
  SavedData saved_data = SavedData::kTensor;
  InputOutput input_output = InputOutput::kBoth;
  OperatorFilter kernels;
  std::vector<std::uint32_t> support_device;  // ascending
  Categories statistic_category;              // the user's order; one named twice is here twice
  std::uint32_t overflow_number = 0;          // 0: unlimited
  std::uint32_t initial_iteration = 0;

  // e2e_dump_settings
  bool enable = false;  // synchronous: a step's data are on disk when the step has ended
  bool trans_flag = true;
  bool on_device = false;  // stat_calc_mode
  Precision device_stat_precision_mode = Precision::kHigh;
  std::uint32_t sample_num = 0;  // with sample_mode 1: the first so many elements; 0: all
  bool save_kernel_args = false;

  std::string text;  // the file as it was, for .dump_metadata

  bool saves_tensors() const { return saved_data != SavedData::kStatistic; }
  bool saves_statistics() const { return saved_data != SavedData::kTensor; }
};

// An error names the key, its value and what is allowed. Corrections and unknown keys are said
// through `notices`, each once. `diagnostic_data_path` is what MS_DIAGNOSTIC_DATA_PATH says. `callers_path`,
// unless it is empty, stands in for a `path` that is missing or empty; one that is given is checked and kept.
Result<DumpConfig> parse_config(std::string_view text, std::string_view diagnostic_data_path, Notices& notices,
                                std::string_view callers_path = {});

// Reads a regular file whose name ends in .json; MS_DIAGNOSTIC_DATA_PATH is looked up.
Result<DumpConfig> read_config(const std::string& path, Notices& notices, std::string_view callers_path = {});

// The file that MINDSPORE_DUMP_CONFIG names; nothing when it is unset or empty.
Result<std::optional<DumpConfig>> config_from_environment(Notices& notices, std::string_view callers_path = {});

}  // namespace tensorstat
