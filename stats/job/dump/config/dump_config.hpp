// The settings of a dump, independent of the config's dialect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/catalog.hpp>
#include <vector>

#include "stats/data/text/number_set.hpp"
#include "stats/job/dump/config/operator_choice.hpp"

namespace tensorstat {

class OutputForm;

enum class DebugMode : std::uint8_t { kNormal = 0, kOverflow = 3, kException = 4 };
enum class InputOutput : std::uint8_t { kBoth = 0, kInputs = 1, kOutputs = 2 };
enum class SavedData : std::uint8_t { kTensor, kStatistic, kFull };

// The keys of the config's own dialect, for messages.
struct ConfigKeys {
  std::string step = "iteration", direction = "input_output", overflow = "op_debug_mode 3";
};

// A config with defaults filled in and with the corrections that its framework makes. stats/job/dump/README.md lists
// the rules of each dialect, and the test of each rule.
struct DumpConfig {
  // The choice of tensors.
  DebugMode op_debug_mode = DebugMode::kNormal;
  std::uint32_t overflow_number = 0;                // 0: unlimited
  std::shared_ptr<const OperatorChoice> operators;  // nullptr: every operator
  InputOutput input_output = InputOutput::kBoth;
  NumberSet iteration = NumberSet::every();
  std::uint32_t initial_iteration = 0;     // added to the caller's iteration
  bool start_is_of_any_iteration = false;  // after DumpSession::start() `iteration` is ignored
  bool takes_saved = false;                // DumpSession::save() is wanted, and operators are not
  NumberSet ranks = NumberSet::every();
  std::optional<std::vector<std::uint32_t>> support_device;  // ascending; nullopt: every device

  // Which data are saved.
  SavedData saved_data = SavedData::kTensor;
  Categories statistic_category;  // in the user's order, with duplicates
  bool on_device = false;         // stat_calc_mode
  bool names_host = false;        // it is given and is "host": not even the GPU of a tensor in its memory measures
  Precision device_stat_precision_mode = Precision::kHigh;
  std::uint32_t sample_num = 0;  // dump the first sample_num elements; 0: all
  bool save_kernel_args = false;
  bool saves_runs = false;  // all tensors of a run in one Ascend dump file, instead of one .npy each

  // Where and how it is written.
  std::shared_ptr<const OutputForm> form;  // never nullptr after a config was read
  std::string path;                        // absolute
  std::string net_name;                    // the folder of the network, in forms that have one
  std::uint64_t unknown_id = 0;            // the task and stream id of operators that came without
  bool trans_flag = true;                  // false: file names give the device's formats
  bool enable = false;                     // synchronous: when a step has ended, its data are on disk
  std::string text;                        // the config file's text, unchanged
  ConfigKeys keys;

  bool saves_tensors() const { return saved_data != SavedData::kStatistic; }
  bool saves_statistics() const { return saved_data != SavedData::kTensor; }
};

}  // namespace tensorstat
