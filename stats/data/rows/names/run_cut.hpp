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
  bool begins_run(const Identity& identity) {
    const bool is_same = !seen_.empty() && identity.op_type == op_type_ && identity.op_name == op_name_ &&
                         identity.task_id == task_id_ && identity.stream_id == stream_id_ &&
                         !seen_.contains({identity.io, identity.slot});
    if (!is_same) {
      op_type_ = identity.op_type;
      op_name_ = identity.op_name;
      task_id_ = identity.task_id;
      stream_id_ = identity.stream_id;
      seen_.clear();
    }
    seen_.emplace(identity.io, identity.slot);
    return !is_same;
  }

 private:
  std::string op_type_, op_name_;
  std::uint64_t task_id_ = 0, stream_id_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> seen_;  // inputs and outputs of the current run
};

}  // namespace tensorstat
