// Maps elements to codes. Each code is a bin for quantiles. The place of a bin is its rank in ascending order of value.
#pragma once

#include <cstdint>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// How places follow from codes.
enum class Order : std::uint8_t {
  kUnsigned,    // equal to the code
  kComplement,  // two's complement: the upper half of the codes comes first
  kMagnitude,   // sign and magnitude: the upper half of the codes comes first, in reverse
};

// The coding of one dtype.
struct Coding {
  std::uint32_t bins;
  Order order;
  int shift;               // floats: how many lower bits a code drops
  std::uint32_t greatest;  // the greatest code; for kMagnitude the greatest magnitude of both signs
  bool mixes_infinity;     // the greatest code holds Inf and NaN
  bool lacks_minus_zero;   // the code of -0 is a NaN's
  int first_key = 0;       // floats without a sign: the key of code 0
};

const Coding& coding(Dtype dtype);

// Converts a place to a signed number: 0 for the value 0, -1, -2, ... for the places below.
constexpr std::int64_t signed_place(const Coding& how, std::uint32_t place) {
  return std::int64_t{place} - (how.order == Order::kUnsigned ? 0 : how.bins / 2);
}
constexpr std::uint32_t unsigned_place(const Coding& how, std::int64_t number) {
  return static_cast<std::uint32_t>(number + (how.order == Order::kUnsigned ? 0 : how.bins / 2));
}

// The place of the element with this key (precision/partial.h).
std::uint32_t place_of(Dtype dtype, std::int64_t key);
// The key of the value that represents a bin: its only value, its middle, or 0 if the bin contains 0.
std::int64_t middle_of(Dtype dtype, std::uint32_t place);
// The places of the least and the greatest value of a dtype.
struct Places {
  std::uint32_t first, last;
};
Places places_of(Dtype dtype);

// How many codes (precision/codes.h) the dtype has, and the bytes of one code.
std::uint32_t code_count(Dtype dtype);
std::uint32_t code_bytes(Dtype dtype);

}  // namespace tensorstat
