#include "bench/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <tuple>
#include <vector>

#include "bench/real_data.hpp"

namespace tensorstat::bench {
namespace {

constexpr std::uint64_t kRun = std::uint64_t{1} << 20;  // elements; larger tensors repeat them
constexpr std::size_t kPage = 4096;

struct Format {
  int mantissa_bits, exponent_bits;
};

Format format(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat16:
      return {10, 5};
    case Dtype::kBfloat16:
      return {7, 8};
    case Dtype::kFloat32:
      return {23, 8};
    default:
      return {52, 11};
  }
}

// The bits of `value` in `format`, rounded to nearest even.
std::uint64_t encode(Format format, double value) {
  const std::uint64_t infinity = ((std::uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const std::uint64_t sign = std::signbit(value) ? infinity + (std::uint64_t{1} << format.mantissa_bits) : 0;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  const int lowest = 2 - (1 << (format.exponent_bits - 1));
  const int exponent = std::max(std::ilogb(magnitude), lowest);
  const auto units = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  // The leading bit of a normal number adds 1 to the exponent field. A carry does the same.
  const std::uint64_t code = (static_cast<std::uint64_t>(exponent - lowest) << format.mantissa_bits) + units;
  return sign | std::min(code, infinity);
}

// Draws the bits of each element.
class Source {
 public:
  Source(Dtype dtype, Kind kind) : dtype_(dtype), kind_(kind), format_(format(dtype)) {}

  std::uint64_t next() {
    if (dtype_ == Dtype::kBool) return random_() & 1;
    if (!is_float(dtype_) || size_bytes(dtype_) == 1) return random_();  // for float8 too, all codes are equally likely
    const std::uint64_t exponent = ((std::uint64_t{1} << format_.exponent_bits) - 1) << format_.mantissa_bits;
    const std::uint64_t sign = std::uint64_t{1} << (format_.mantissa_bits + format_.exponent_bits);
    switch (kind_) {
      case Kind::kLogUniform:
        return finite(random_(), exponent);
      case Kind::kSubnormal:
        return random_() & ~exponent;
      case Kind::kMaxima:
        return (exponent - 1) | (drawn_++ % 2 == 0 ? 0 : sign);
      case Kind::kNanLaden:
        if (drawn_++ % 10 == 0) return exponent | 1;
        [[fallthrough]];
      default:
        return encode(format_, normal_(random_));
    }
  }

 private:
  std::uint64_t finite(std::uint64_t bits, std::uint64_t exponent) {
    while ((bits & exponent) == exponent) bits = random_();
    return bits;
  }

  Dtype dtype_;
  Kind kind_;
  Format format_;
  std::uint64_t drawn_ = 0;
  std::mt19937_64 random_{20240607};
  std::normal_distribution<double> normal_;
};

void fill(std::span<std::byte> bytes, Dtype dtype, Kind kind) {
  const std::size_t size = size_bytes(dtype);
  if (kind == Kind::kAscending) {
    for (std::size_t offset = 0; offset + size <= bytes.size(); offset += size) {
      const std::uint64_t bits =
          encode(format(dtype), 2 * static_cast<double>(offset) / static_cast<double>(bytes.size()) - 1);
      std::memcpy(&bytes[offset], &bits, size);
    }
    return;
  }
  const std::size_t run_bytes = std::min<std::size_t>(bytes.size(), kRun * size);
  Source source(dtype, kind);
  const std::vector<float> real = real_values(kind);
  for (std::size_t offset = 0; offset + size <= run_bytes; offset += size) {
    const std::uint64_t bits = real.empty() ? source.next() : encode(format(dtype), real[offset / size]);
    std::memcpy(&bytes[offset], &bits, size);  // little-endian: the low bytes are the element
  }
  for (std::size_t offset = run_bytes; offset < bytes.size(); offset += run_bytes) {
    std::memcpy(&bytes[offset], bytes.data(), std::min(run_bytes, bytes.size() - offset));
  }
}

}  // namespace

std::string_view name(Kind kind) {
#define TENSORSTAT_KIND(id, name) name,
  constexpr std::string_view kNames[] = {TENSORSTAT_KINDS(TENSORSTAT_KIND) TENSORSTAT_REAL_KINDS(TENSORSTAT_KIND)};
#undef TENSORSTAT_KIND
  return kNames[static_cast<std::size_t>(kind)];
}

Tensor make(Dtype dtype, std::uint64_t bytes, Kind kind) {
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  static std::map<std::tuple<Dtype, std::uint64_t, Kind>, std::unique_ptr<void, Free>> made;
  auto& memory = made[{dtype, bytes, kind}];
  if (memory == nullptr) {
    memory.reset(std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage));
    if (memory == nullptr) throw std::bad_alloc();
    fill({static_cast<std::byte*>(memory.get()), bytes}, is_complex(dtype) ? part_of(dtype) : dtype, kind);
  }
  return {.dtype = dtype, .element_count = elements_of(dtype, bytes), .address = memory.get()};
}

std::span<const std::byte> bytes_of(const Tensor& tensor) { return {tensor.data(), tensor.bytes()}; }

}  // namespace tensorstat::bench
