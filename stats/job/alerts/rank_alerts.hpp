// The alerts of one rank: each row is judged by the rules and kept, and an event is written when a rule is met.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/alerts.hpp>
#include <unordered_map>
#include <vector>

#include "stats/data/rows/append_file.hpp"
#include "stats/data/rows/notices.hpp"
#include "stats/data/rules/rule.hpp"
#include "stats/job/alerts/kept_steps.hpp"
#include "stats/job/alerts/step_ring.hpp"

namespace tensorstat {

// Shared by all ranks of a session.
struct AlertSetup {
  AlertOptions options;
  std::vector<Rule> rules;
  KeptAbout about;
  std::string path;  // of the dump
  std::function<std::string(std::uint32_t rank)> rank_folder;
  std::shared_ptr<Notices> notices;
  std::shared_ptr<AppendFile> lines;  // alerts.ndjson
  std::uint32_t event_count = 0;      // that were written
};

// A tensor of a run, with its statistics. A view.
struct SeenTensor {
  const void* op;  // the same for all runs of an operator
  std::string_view op_type, op_name, data_type;
  std::uint64_t task_id, stream_id, timestamp_us, slot, data_size_bytes;
  std::uint32_t graph;
  bool is_input, is_constant;
  const Shape& shape;
  std::span<const Value> values;                      // in the order of AlertSetup::about.categories
  std::optional<std::string_view> differs_over = {};  // DumpTensor::differs_over
};

// Used by one thread at a time. Throws only std::bad_alloc.
class RankAlerts {
 public:
  // `setup` must outlive this.
  RankAlerts(AlertSetup& setup, std::uint32_t rank);

  // A tensor's rows are those with its operator, graph, io and slot. If an operator runs several times in a step, its
  // n-th run is compared with its n-th run of the steps before. A row of another step ends the one that runs: the steps
  // of a rank come one after the other. Returns whether an alert names the tensor: it is the first that begins to meet
  // a rule in this step.
  bool take(std::uint64_t step, const SeenTensor& tensor);
  // Puts the rows that were taken since into the ring. Call it before the job goes on: one call for all tensors of an
  // operator costs less than one for each.
  void keep_rows();

  // Whether an alert of the step that runs names a tensor of this operator.
  bool has_alert_of(std::uint64_t step, const void* op) const;
  // The folder for a tensor of that step, which takes this many bytes. The event begins with it. Empty if no more
  // events are written, or this one has no room for the tensor.
  std::string folder_for_tensor(std::uint32_t graph, std::uint64_t bytes);
  // Adds to the alerts that name a tensor of this operator: the path from folder_for_tensor() with the file's name, or
  // the reason in words why it is not saved.
  void add_saved(const void* op, bool is_input, const std::string& path);
  void add_not_saved(const void* op, bool is_input, const std::string& words);

  // The rules that began to be met in the step that runs, each with its first tensor. Their event is written.
  std::vector<Alert> end_step();
  // As end_step(), for a step that has not ended. Then says in the ring that the process did not die.
  std::vector<Alert> close();

 private:
  struct Key {
    const void* op;
    std::uint64_t slot;
    std::uint32_t graph;
    bool is_input;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  // One run's tensor through the steps.
  struct Series {
    TensorRow row;
    std::uint32_t graph;
    bool is_constant;
    std::vector<RulePast> pasts;  // for each rule
    std::vector<bool> was_met;
  };
  struct Runs {
    std::uint64_t number_of_step = 0;
    std::size_t count = 0;  // in that step
    std::vector<std::unique_ptr<Series>> series;
  };
  struct Fired {
    const Series* series;
    const void* op;
    Alert alert;
    std::optional<Category> category;
    std::size_t run;
    bool is_input_told = false;  // an input of its operator is saved, or why it is not
  };

  Series& series_of(const SeenTensor& tensor, std::size_t& run);
  bool judge(Series& series, const void* op, std::size_t run);
  Fired fired(const Series& series, std::size_t run, const Rule& rule, const RulePast& past) const;
  bool begin_event();
  // Whether the last event is of the step that runs, which had ended and goes on, as with another graph.
  bool is_event_of_step() const { return number_of_event_ != 0 && number_of_event_ == number_of_step_; }
  void say(const Status& kept);
  std::vector<Alert> tell(bool is_whole);
  void add_history(const KeptSteps& kept, Fired& fired) const;
  void write(const KeptSteps& kept, const std::string& journal);

  AlertSetup& setup_;
  const std::uint32_t rank_;
  std::unique_ptr<StepRing> ring_;
  std::unordered_map<Key, Runs, KeyHash> runs_;
  std::size_t series_count_ = 0;
  std::uint64_t step_ = 0, number_of_step_ = 0;
  bool is_in_step_ = false;
  std::string bytes_;                                   // of rows for the ring
  std::uint64_t row_count_ = 0;                         // in bytes_
  std::vector<Alert> told_;                             // of steps that end_step() did not end
  std::vector<Fired> fired_;                            // in this step, for each rule at most one
  std::string event_folder_;                            // of the last event
  bool is_event_begun_ = false;                         // by the step that runs
  std::uint64_t event_room_ = 0;                        // bytes
  std::uint32_t steps_to_write_ = 0;                    // further ones, into that
  std::uint64_t number_of_event_ = 0;                   // its number_of_step_
  std::uint64_t number_of_later_ = 0;                   // of the last further one
  std::map<std::uint64_t, std::uint64_t> saved_bytes_;  // of the tensors in each event, by step
};

}  // namespace tensorstat
