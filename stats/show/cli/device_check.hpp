// `tensorstat devices --check`: compares a device's bits with the host's, and measures its speed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>

namespace tensorstat::cli {

struct DeviceCheck {
  int case_count = 0;  // tensors with the host's bits in every statistic
  std::string fault;   // the first difference or error; empty: passed
  DeviceSpeed speed;   // set if `fault` is empty
  bool passed() const { return fault.empty(); }
};

// Checks the device with these numbers of list_devices(). Measures its speed over `speed_bytes`, then compares each of
// the dtypes in `high` and `low` precision, with ordinary values and with random bits.
DeviceCheck check_device(int platform, int device, std::uint64_t speed_bytes, std::span<const Dtype> dtypes);

// "the same bits as the host, ...", or the fault.
std::string sentence_of(const DeviceCheck& check);

}  // namespace tensorstat::cli
