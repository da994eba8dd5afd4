// What a user asked to be dumped, in whichever dialect of configs it was written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tensorstat/catalog.hpp>
#include <vector>

#include "stats/base/number_set.hpp"
#include "stats/dump/config/operator_choice.hpp"

namespace tensorstat {

class OutputForm;

enum class DebugMode : std::uint8_t { kNormal = 0, kOverflow = 3, kException = 4 };
enum class InputOutput : std::uint8_t { kBoth = 0, kInputs = 1, kOutputs = 2 };
enum class SavedData : std::uint8_t { kTensor, kStatistic, kFull };

// A config as it is obeyed: defaults filled in, and every correction made that its framework makes.
// stats/dump/README.md lists the rules of each dialect, each with the test that holds it.
struct DumpConfig {
  // What is wanted.
  DebugMode op_debug_mode = DebugMode::kNormal;
  std::uint32_t overflow_number = 0;                  // 0: unlimited
  std::shared_ptr<const OperatorChoice> operators;    // nullptr: every operator
  InputOutput input_output = InputOutput::kBoth;
  NumberSet iteration = NumberSet::every();
  std::uint32_t initial_iteration = 0;                // added to the caller's
  bool start_is_of_any_iteration = false;             // DumpSession::start() makes `iteration` void
  NumberSet ranks = NumberSet::every();
  std::optional<std::vector<std::uint32_t>> support_device;  // ascending; nullopt: every device

  // What is made of it.
  SavedData saved_data = SavedData::kTensor;
  Categories statistic_category;  // the user's order; one named twice is here twice
  bool on_device = false;         // stat_calc_mode
  Precision device_stat_precision_mode = Precision::kHigh;
  std::uint32_t sample_num = 0;   // the first so many elements; 0: all
  bool save_kernel_args = false;
  bool saves_runs = false;        // the tensors of a run in one of Ascend's dump files, and not each in an .npy

  // Where it goes, and how.
  std::shared_ptr<const OutputForm> form;  // never nullptr in a config that was read
  std::string path;                        // absolute
  std::string net_name;                    // a part of the folders, where a form has it
  bool trans_flag = true;                  // false: the device's formats are told in names of files
  bool enable = false;  // synchronous: a step's data are on disk when the step has ended
  std::string text;     // the file as it was

  bool saves_tensors() const { return saved_data != SavedData::kStatistic; }
  bool saves_statistics() const { return saved_data != SavedData::kTensor; }
};

}  // namespace tensorstat
