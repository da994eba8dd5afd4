// Which operators, devices, ranks, iterations and directions a config selects.
#pragma once

#include <algorithm>
#include <tensorstat/dump.hpp>

#include "stats/job/dump/config/dump_config.hpp"

namespace tensorstat {

class Selection {
 public:
  // `config` must outlive this object. `is_cpu`: support_device is ignored, as in MindSpore on a CPU.
  Selection(const DumpConfig& config, bool is_cpu)
      : config_(config), has_every_device_(is_cpu || !config.support_device) {}

  // By support_device. Takes a few nanoseconds, as does wants_iteration().
  bool wants_device(std::uint32_t device) const {
    if (has_every_device_) return true;
    const auto& devices = *config_.support_device;
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }

  bool wants_rank(std::uint32_t rank) const { return config_.ranks.contains(rank); }

  // `counted` has the iteration as the config counts it. Constants belong to no iteration.
  bool wants_iteration(const DumpPlace& counted) const {
    return counted.constants || config_.iteration.contains(counted.iteration);
  }

  bool wants_io(Io io) const {
    return config_.input_output == InputOutput::kBoth ||
           (io == Io::kInput) == (config_.input_output == InputOutput::kInputs);
  }

  // Slow, because it matches texts: call it once per operator.
  bool wants_operator(const AskedOperator& op) const {
    return config_.operators == nullptr || config_.operators->wants(op);
  }

 private:
  const DumpConfig& config_;
  const bool has_every_device_;
};

}  // namespace tensorstat
