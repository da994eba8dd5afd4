// Which operators, places and directions a config wants.
#pragma once

#include <algorithm>
#include <tensorstat/dump.hpp>

#include "stats/dump/config/dump_config.hpp"

namespace tensorstat {

class Selection {
 public:
  // `config` outlives it. `is_cpu`: support_device is not looked at, as in MindSpore on a CPU.
  Selection(const DumpConfig& config, bool is_cpu)
      : config_(config), has_every_device_(is_cpu || !config.support_device) {}

  // By support_device. A few nanoseconds, as the next.
  bool wants_device(std::uint32_t device) const {
    if (has_every_device_) return true;
    const auto& devices = *config_.support_device;
    return std::find(devices.begin(), devices.end(), device) != devices.end();
  }

  bool wants_rank(std::uint32_t rank) const { return config_.ranks.contains(rank); }

  // Of a place whose iteration is counted as the config counts; constants belong to none.
  bool wants_iteration(const DumpPlace& counted) const {
    return counted.constants || config_.iteration.contains(counted.iteration);
  }

  bool wants_io(Io io) const {
    return config_.input_output == InputOutput::kBoth ||
           (io == Io::kInput) == (config_.input_output == InputOutput::kInputs);
  }

  // Matches texts: ask once for each operator.
  bool wants_operator(const AskedOperator& op) const {
    return config_.operators == nullptr || config_.operators->wants(op);
  }

 private:
  const DumpConfig& config_;
  const bool has_every_device_;
};

}  // namespace tensorstat
