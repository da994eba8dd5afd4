// Numbers the calls of a step, and joins the runs that belong to one call.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "stats/job/dump/msprobe/api_name.hpp"
#include "stats/job/dump/msprobe/call_keys.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

// A backend may hand over inputs and outputs separately. Runs of an operator belong to one call until an input or
// output repeats. Memory grows with the calls of the step.
class StepCalls {
 public:
  struct Call {
    std::string key;
    std::uint64_t serial = 0;  // number among all calls of the step, from 1
    bool is_new = false;
  };

  // The call that this run belongs to. `first_open`: calls with lower serials take no more runs.
  Call call_of(const PendingRun& run, std::uint64_t first_open) {
    Current& current = current_[run.op];
    bool comes_again = current.serial < first_open;
    each_tensor(run, [&](const Tensor& tensor) { comes_again |= current.seen.contains(tensor); });
    if (comes_again) current = {keys_.next(api_name_of(run.op->type, run.op->name)), ++serials_, {}};
    each_tensor(run, [&](const Tensor& tensor) { current.seen.insert(tensor); });
    return {current.key, current.serial, comes_again};
  }

 private:
  using Tensor = std::pair<Io, std::uint32_t>;

  // Calls each() for all tensors of the run that were handed over, if known; else for the dumped ones.
  template <typename Each>
  static void each_tensor(const PendingRun& run, const Each& each) {
    for (const Tensor& tensor : run.given) each(tensor);
    if (!run.given.empty()) return;
    for (const PendingTensor& tensor : run.tensors) each({tensor.io, tensor.slot});
  }

  struct Current {
    std::string key;
    std::uint64_t serial = 0;
    std::set<Tensor> seen;
  };
  std::map<const DumpOperator*, Current> current_;
  CallKeys keys_;
  std::uint64_t serials_ = 0;
};

}  // namespace tensorstat
