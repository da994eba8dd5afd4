// Where, among rows that follow each other, one run of an operator ends and the next begins.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tensorstat/rows.hpp>
#include <utility>

namespace tensorstat {

// A run is rows of one operator, task and stream; it ends where an input or output comes again.
class RunCut {
 public:
  // Whether this row begins another run than the rows before it. Asked of each row once, in order.
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
  std::set<std::pair<std::string, std::uint64_t>> seen_;  // inputs and outputs of the run
};

}  // namespace tensorstat
