// SPDX-License-Identifier: Apache-2.0
// Alerts of a dump session: rules that are asked of each row while the job runs, and the rows of the last steps before
// one was met. doc/alerts.md says what users see.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>
#include <utility>
#include <vector>

namespace tensorstat {

// A rule that began to be met in a step. It is told again for the same tensor only after a step in which the tensor did
// not meet it.
struct Alert {
  std::uint64_t step = 0;
  std::uint32_t rank = 0;
  std::string condition;  // the rule, as written
  // The first tensor that met it, as a row has it.
  std::string op_type, op_name, io;
  std::uint64_t slot = 0;
  std::string data_type;
  Shape shape;
  // By the comparison that was met. Empty if only texts decided.
  std::string statistic;
  Value value;
  std::optional<double> limit;
  // What a rule "differs over GROUP" found: "of 3 replicas rank 1 differs in a bit".
  std::string words = {};
  std::uint64_t tensor_count = 1;  // tensors that began to meet the rule in this step
  // The statistic in the steps that are kept, the oldest first; this step is the last. NaN is a value.
  std::vector<std::pair<std::uint64_t, Value>> history = {};
  std::string folder = {};  // of the event; empty if none was written
  // The caller's line that ran the operator, of a watched PyTorch model. Empty and 0 if it is not known.
  std::string file = {};
  std::uint64_t line = 0;
  // With AlertOptions::save_tensors: the .npy files in `folder`, and in words what could not be saved.
  std::vector<std::string> saved = {}, not_saved = {};
};

// "step 812, rank 3: layer.7/forward output 0: l2norm is 4e+09, condition l2norm > 100; and 3 more tensors".
std::string to_sentence(const Alert& alert);
// One line of alerts.ndjson, without its line feed.
std::string to_json(const Alert& alert);

struct AlertOptions {
  // Rules, separated by commas: "nan, l2norm > 8 * median(l2norm, 50), zero count == count for 3 steps". They are
  // written as in --where, and may ask about the tensor's own past (stats/data/rules/rule.hpp). Empty: none.
  std::string rules = {};
  // 0: rows are written as the config says, and rules are asked beside that. Else no row is written to a file; the rows
  // of so many steps before the current one stand in {rank folder}/last_steps.ring, which outlives any death of the
  // process. An event writes them to {path}/event_{step} as a dump.
  std::uint32_t keep_steps = 0;
  // The rows of so many steps after an event are added to its folder.
  std::uint32_t steps_after = 0;
  // The limit of last_steps.ring, for each rank. Rows of a step beyond it are counted and not kept, with one warning.
  std::uint64_t keep_bytes = std::uint64_t{256} << 20;
  // Further alerts reach on_alert, but no file, with one warning.
  std::uint32_t most_events = 16;
  // Saves the tensor that an alert names, and the inputs of its operator's run, as .npy files in the event's folder.
  // Inputs are those of the same collect() and those with DumpTensor::is_for_event. No tensor is copied before: rules
  // are asked before collect() returns, also of tensors that the session's thread would measure otherwise.
  bool save_tensors = false;
  // The limit of an event's files, for each rank. A tensor that does not fit is not saved, then the oldest steps are
  // left out. The alert and a warning say so.
  std::uint64_t event_bytes = std::uint64_t{1} << 30;
  // Called for each alert; if it is empty, the session's log gets a sentence. Called by the thread that calls
  // step_end(), after the step's rows are judged, or close(). No lock is held, so it may call the session. Exceptions
  // are ignored.
  std::function<void(const Alert&)> on_alert = {};

  bool wants_anything() const { return !rules.empty() || keep_steps != 0; }
};

}  // namespace tensorstat
