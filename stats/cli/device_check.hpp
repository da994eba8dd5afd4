// `tensorstat devices --check`: whether a device computes the host's bits, and how fast it is.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>

namespace tensorstat::cli {

struct DeviceCheck {
  int case_count = 0;         // tensors whose every statistic had the host's bits
  std::string fault;          // the first difference, or what failed; empty where there is none
  DeviceSpeed speed;          // where there is no fault
  bool passed() const { return fault.empty(); }
};

// Of this device, numbered as in list_devices(): its speed over `speed_bytes`, then every dtype, in `high` and `low`,
// of ordinary values and of any bits.
DeviceCheck check_device(int platform, int device, std::uint64_t speed_bytes);

// "the same bits as the host, ...", or what is wrong.
std::string sentence_of(const DeviceCheck& check);

}  // namespace tensorstat::cli
