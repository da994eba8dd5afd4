// Divides a sequence of rows into runs of operators.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tensorstat/rows.hpp>
#include <utility>

namespace tensorstat {

// A run is a sequence of rows with the same operator, task and stream. A repeated input or output begins a new run.
class RunCut {
 public:
  // Whether this row begins a new run. Call it once for each row, in order.
  bool begins_run(const Identity& who) {
    const bool is_same = !seen_.empty() && who.op_type == op_type_ && who.op_name == op_name_ &&
                         who.task_id == task_id_ && who.stream_id == stream_id_ && !seen_.contains({who.io, who.slot});
    if (!is_same) {
      op_type_ = who.op_type;
      op_name_ = who.op_name;
      task_id_ = who.task_id;
      stream_id_ = who.stream_id;
      seen_.clear();
    }
    seen_.emplace(who.io, who.slot);
    return !is_same;
  }

 private:
  std::string op_type_, op_name_;
  std::uint64_t task_id_ = 0, stream_id_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> seen_;  // inputs and outputs of the current run
};

}  // namespace tensorstat
