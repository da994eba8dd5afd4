// MindSpore's statistics of a tensor in host memory, rebuilt from a description of TensorStat in version 2.7, not from
// its source. Up to 10,000 elements: on the caller's thread. More: on min(n / 10000, 32) threads that std::async starts
// for this tensor; the last one takes the rest. Each thread runs a scalar loop that converts every element to double,
// counts in 32 bits and sums without scaling.
#include <algorithm>
#include <bit>
#include <cmath>
#include <future>

#include "bench/peers/peer.hpp"

namespace tensorstat::bench {
namespace {

double widen(float value) { return value; }
double widen(double value) { return value; }
double widen(std::int8_t value) { return value; }

struct Bfloat16 {
  std::uint16_t bits;
};
double widen(Bfloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

struct Float16 {
  std::uint16_t bits;
};
// As in libraries without hardware for half types: shift into a float's position, then scale the exponent by a
// multiplication.
double widen(Float16 value) {
  const std::uint32_t magnitude = (value.bits & 0x7fffU) << 13;
  float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  if (scaled >= 65536.0F) scaled = std::bit_cast<float>(magnitude | 0x7f800000U);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | (value.bits & 0x8000U) << 16);
}

struct Part {
  double max = -std::numeric_limits<double>::infinity(), min = std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0, avg = 0;
  int count = 0, negatives = 0, positives = 0, zeros = 0, nans = 0, positive_infs = 0, negative_infs = 0;
};

template <typename T>
Part one_chunk(const T* from, std::size_t count) {
  Part part;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = widen(from[i]);
    part.count += 1;
    part.sum += x;
    part.squares += x * x;
    if (std::isnan(x)) part.nans += 1;
    if (std::isinf(x)) (x > 0 ? part.positive_infs : part.negative_infs) += 1;
    if (x < 0) {
      part.negatives += 1;
    } else if (x > 0) {
      part.positives += 1;
    } else if (x == 0) {
      part.zeros += 1;
    }
    if (std::isnan(part.max) || std::isnan(x)) {
      part.max = part.min = std::numeric_limits<double>::quiet_NaN();
    } else {
      part.max = std::max(part.max, x);
      part.min = std::min(part.min, x);
    }
  }
  part.avg = part.sum / part.count;
  return part;
}

template <typename T>
Findings statistics(const Tensor& tensor) {
  const T* from = reinterpret_cast<const T*>(bytes_of(tensor).data());
  const std::size_t count = tensor.element_count;
  const std::size_t threads = count <= 10000 ? 1 : std::min<std::size_t>(count / 10000, 32);
  std::vector<Part> parts;
  if (threads == 1) {
    parts.push_back(one_chunk(from, count));
  } else {
    std::vector<std::future<Part>> running;
    const std::size_t chunk = count / threads;
    for (std::size_t i = 0; i < threads; ++i) {
      const std::size_t first = i * chunk;
      running.push_back(
          std::async(std::launch::async, one_chunk<T>, from + first, i + 1 < threads ? chunk : count - first));
    }
    for (auto& each : running) parts.push_back(each.get());
  }
  Part whole;
  for (const Part& part : parts) {
    whole.max = std::max(whole.max, part.max);
    whole.min = std::min(whole.min, part.min);
    whole.sum += part.avg * part.count;
    whole.squares += part.squares;
    whole.negatives += part.negatives;
    whole.positives += part.positives;
    whole.zeros += part.zeros;
    whole.nans += part.nans;
    whole.positive_infs += part.positive_infs;
    whole.negative_infs += part.negative_infs;
  }
  return {.max = whole.max,
          .min = whole.min,
          .avg = whole.sum / static_cast<double>(count),
          .l2norm = std::sqrt(whole.squares),
          .negatives = static_cast<double>(whole.negatives),
          .positives = static_cast<double>(whole.positives),
          .zeros = static_cast<double>(whole.zeros),
          .nans = static_cast<double>(whole.nans),
          .infinities = static_cast<double>(whole.positive_infs) + whole.negative_infs};
}

}  // namespace

Findings mindspore(const Tensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::kFloat64:
      return statistics<double>(tensor);
    case Dtype::kFloat16:
      return statistics<Float16>(tensor);
    case Dtype::kBfloat16:
      return statistics<Bfloat16>(tensor);
    case Dtype::kInt8:
      return statistics<std::int8_t>(tensor);
    default:
      return statistics<float>(tensor);
  }
}

void enter_mindspore(const std::string& group, Dtype dtype, std::uint64_t bytes) {
  enter(group, "peer:mindspore", static_cast<double>(bytes), 1, [=] {
    const Tensor tensor = make(dtype, bytes);
    return peer(tensor, [tensor] { return mindspore(tensor); });
  });
}

}  // namespace tensorstat::bench
