// Which operators, places and directions a config wants.
#pragma once

#include <algorithm>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/dump/mindspore/config.hpp"

namespace tensorstat {

class Selection {
 public:
  // `config` outlives it. `is_cpu`: support_device is not looked at, as in MindSpore on a CPU.
  Selection(const DumpConfig& config, bool is_cpu) : config_(config), is_cpu_(is_cpu) {}

  // By support_device. A few nanoseconds, as the next.
  bool wants_device(std::uint32_t device) const {
    const auto& devices = config_.support_device;
    return is_cpu_ || std::find(devices.begin(), devices.end(), device) != devices.end();
  }

  // By iteration; constants belong to none.
  bool wants_iteration(const DumpPlace& place) const {
    return place.constants || config_.iteration.contains(place.iteration + config_.initial_iteration);
  }

  bool wants_io(Io io) const {
    return config_.input_output == InputOutput::kBoth ||
           (io == Io::kInput) == (config_.input_output == InputOutput::kInputs);
  }

  // By dump_mode, kernels and the set_dump flag. Matches texts: ask once for each operator.
  // `is_escaped`: the name is as it is in files, and the type counts.
  bool wants_operator(std::string_view type, std::string_view name, bool set_dump,
                      bool is_escaped) const {
    switch (config_.dump_mode) {
      case DumpMode::kKernels:
        return is_escaped ? config_.kernels.wants_escaped(type, name) : config_.kernels.wants(name);
      case DumpMode::kSetDump:
        return set_dump;
      case DumpMode::kAll:
        break;
    }
    return true;
  }

 private:
  const DumpConfig& config_;
  const bool is_cpu_;
};

}  // namespace tensorstat
