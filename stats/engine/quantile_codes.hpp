// How the elements of a dtype become codes, each a bin of quantiles, and how the bins lie in ascending order: their places.
#pragma once

#include <cstdint>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// How the places of a dtype lie to its codes.
enum class Order : std::uint8_t {
  kUnsigned,    // the same
  kComplement,  // two's complement: the upper half comes before the lower
  kMagnitude,   // a sign before the rest: the upper half comes before the lower, and backwards
};

// How the elements of a dtype become codes.
struct Coding {
  std::uint32_t bins;
  Order order;
  int shift;               // of floats: their lower bits, which codes do not have
  std::uint32_t greatest;  // code; of a sign and a magnitude, the greatest magnitude, of either sign
  bool mixes_infinity;     // with NaN, in that code
  bool lacks_minus_zero;   // whose code is a NaN's
  int first_key = 0;       // of floats without a sign: the key of the code 0
};

const Coding& coding(Dtype dtype);

// Of a place that is the number of its value: 0 of the dtype's 0, and below that the negative ones from -1 on.
constexpr std::int64_t signed_place(const Coding& how, std::uint32_t place) {
  return std::int64_t{place} - (how.order == Order::kUnsigned ? 0 : how.bins / 2);
}
constexpr std::uint32_t unsigned_place(const Coding& how, std::int64_t number) {
  return static_cast<std::uint32_t>(number + (how.order == Order::kUnsigned ? 0 : how.bins / 2));
}

// The bins of a dtype by their places, in ascending order, and the elements by the keys that extrema have
// (precision/partial.h).
std::uint32_t place_of(Dtype dtype, std::int64_t key);
// The key of the value that stands for a bin: of its one value, or its middle, or 0 where that is among its values.
std::int64_t middle_of(Dtype dtype, std::uint32_t place);
// The places of the least and the greatest value that there is.
struct Places {
  std::uint32_t first, last;
};
Places places_of(Dtype dtype);

// Codes of elements (precision/codes.h), a bin each: how many there are, and the bytes that hold one.
std::uint32_t code_count(Dtype dtype);
std::uint32_t code_bytes(Dtype dtype);

}  // namespace tensorstat
