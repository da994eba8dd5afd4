#include "stats/show/cli/device_check.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::uint64_t kElements = 100'003;  // several slices, and a partial one

// Random bits: include NaN, Inf and subnormals. `bool`: 0 and 1.
std::vector<std::byte> any_bits(Dtype dtype, std::mt19937_64& random) {
  std::vector<std::byte> bytes(kElements * size_bytes(dtype));
  for (std::byte& each : bytes) each = static_cast<std::byte>(dtype == Dtype::kBool ? random() & 1 : random() & 0xff);
  return bytes;
}

// Finite values: random bits with the second-highest bit of each float element cleared. In every float dtype this is
// the highest bit of the exponent, so there is neither NaN nor Inf.
std::vector<std::byte> ordinary(Dtype dtype, std::mt19937_64& random) {
  std::vector<std::byte> bytes = any_bits(dtype, random);
  if (!is_float(dtype)) return bytes;
  const std::size_t step = size_bytes(dtype);
  for (std::size_t offset = step - 1; offset < bytes.size(); offset += step) bytes[offset] &= std::byte{0xbf};
  return bytes;
}

bool same(const Value& a, const Value& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return (std::isnan(*x) && std::isnan(*y)) || std::memcmp(x, y, sizeof *x) == 0;
}

}  // namespace

DeviceCheck check_device(int platform, int device, std::uint64_t speed_bytes, std::span<const Dtype> dtypes) {
  DeviceCheck check;
  MeterOptions options;
  options.platform = platform;
  options.device = device;
  // Speed first: if the device has no room for this size, it fails at once. Building the kernels of the dtypes takes
  // long.
  const auto speed = device_speed(options, speed_bytes);
  if (!speed) {
    check.fault = speed.error().message;
    return check;
  }
  check.speed = *speed;
  Meter meter(options);
  Categories categories = every_category();
  std::erase_if(categories, is_digest);  // digests are always computed on the host
  std::mt19937_64 random(std::random_device{}());
  for (const Dtype dtype : dtypes) {
    const std::vector<std::byte> some[] = {ordinary(dtype, random), any_bits(dtype, random)};
    std::vector<Tensor> tensors;
    for (const auto& bytes : some)
      tensors.push_back({.dtype = dtype, .element_count = kElements, .address = bytes.data()});
    for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
      const auto where = std::string(name(dtype)) + " in " + std::string(name(precision)) + ": ";
      const auto on_host = meter.measure(tensors, {.categories = categories, .precision = precision, .on = On::kHost});
      const auto on_device =
          meter.measure(tensors, {.categories = categories, .precision = precision, .on = On::kDevice});
      if (!on_host || !on_device) {
        check.fault = where + (on_host ? on_device : on_host).error().message;
        return check;
      }
      for (std::size_t t = 0; t < tensors.size(); ++t, ++check.case_count) {
        for (std::size_t c = 0; c < categories.size(); ++c) {
          const Value expected = (*on_host)[t].statistics.values[c], actual = (*on_device)[t].statistics.values[c];
          if (same(expected, actual)) continue;
          check.fault = where + std::string(name(categories[c])) + " is " + to_string(actual) + ", and on the host " +
                        to_string(expected);
          return check;
        }
      }
    }
  }
  return check;
}

std::string sentence_of(const DeviceCheck& check) {
  if (!check.passed()) return "wrong: " + check.fault;
  return "the same bits as the host, " + std::to_string(check.case_count) + " tensors; " +
         one_decimal(check.speed.measured_gb_per_s) + " GB/s of float32, " +
         one_decimal(100 * check.speed.measured_gb_per_s / check.speed.read_gb_per_s) + " % of a read-only stream's " +
         one_decimal(check.speed.read_gb_per_s) + " GB/s";
}

}  // namespace tensorstat::cli
