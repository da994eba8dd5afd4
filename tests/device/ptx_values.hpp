// Values in PTX: bits in a register, and a type that gives their meaning.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace ptx {

using u64 = std::uint64_t;
using i64 = std::int64_t;
__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

// A type as one number: its bit count plus its kind.
enum : int { kBits = 0, kUnsigned = 1000, kSigned = 2000, kFloat = 3000, kPairs = 100 };
inline int bits_of(int type) { return type % 1000 == kPairs + 32 ? 32 : type % 1000; }
inline bool is_signed(int type) { return type / 1000 == 2; }

// Returns 0 if the suffix is not a type.
inline int type_of(const std::string& suffix) {
  if (suffix == "pred") return 1;
  if (suffix == "s16x2") return kSigned + kPairs + 32;
  if (suffix == "u16x2") return kUnsigned + kPairs + 32;
  const int meaning = suffix[0] == 'b'   ? kBits
                      : suffix[0] == 'u' ? kUnsigned
                      : suffix[0] == 's' ? kSigned
                      : suffix[0] == 'f' ? kFloat
                                         : -1;
  const std::string digits = suffix.substr(1);
  if (meaning < 0 || (digits != "8" && digits != "16" && digits != "32" && digits != "64")) return 0;
  return meaning + std::stoi(digits);
}

inline u64 cut(u64 value, int bits) { return bits >= 64 ? value : value & ((u64{1} << bits) - 1); }
// As a number: signed types are sign-extended.
inline i128 number(u64 value, int type) {
  const int bits = bits_of(type);
  value = cut(value, bits);
  if (is_signed(type) && (value >> (bits - 1) & 1) != 0)
    return static_cast<i128>(value) - (static_cast<i128>(1) << bits);
  return static_cast<i128>(value);
}
inline double as_double(u64 bits) { return std::bit_cast<double>(bits); }
inline u64 as_bits(double value) { return std::bit_cast<u64>(value); }

// A float16's value.
inline float widened(u64 half) {
  const int exponent = static_cast<int>(half >> 10 & 31), fraction = static_cast<int>(half & 1023);
  const float magnitude = exponent == 31  ? (fraction == 0 ? HUGE_VALF : std::nanf(""))
                          : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                          : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (half >> 15 & 1) != 0 ? -magnitude : magnitude;
}

[[noreturn]] inline void refuse(const std::string& what) { throw std::runtime_error("PTX: " + what); }

inline bool compare(const std::string& how, i128 a, i128 b) {
  if (how == "eq") return a == b;
  if (how == "ne" || how == "neu") return a != b;
  if (how == "lt") return a < b;
  if (how == "le") return a <= b;
  if (how == "gt") return a > b;
  if (how == "ge") return a >= b;
  refuse("setp." + how);
}
inline bool compare_doubles(const std::string& how, double a, double b) {
  if (how == "eq") return a == b;
  if (how == "neu") return a != b;
  if (how == "lt") return a < b;
  if (how == "gt") return a > b;
  refuse("setp." + how + ".f64");
}

// For pairs, each half on its own.
inline u64 extreme(bool largest, int type, u64 a, u64 b) {
  const auto one = [&](u64 x, u64 y, int element_type) {
    return (number(x, element_type) > number(y, element_type)) == largest ? x : y;
  };
  if (type % 1000 != kPairs + 32) return one(a, b, type);
  const int half = type / 1000 * 1000 + 16;
  return one(a & 0xffff, b & 0xffff, half) | one(a >> 16 & 0xffff, b >> 16 & 0xffff, half) << 16;
}

// prmt: the highest of a selector's four bits replicates the byte's sign.
inline u64 permuted(u64 a, u64 b, u64 selector) {
  u64 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u64 nibble = selector >> 4 * i & 15, byte = (cut(a, 32) | b << 32) >> 8 * (nibble & 7) & 0xff;
    result |= ((nibble & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xff : 0) << 8 * i;
  }
  return result;
}

// dp4a
inline u64 dot(int type, u64 a, u64 b, u64 sum) {
  const int byte = type / 1000 * 1000 + 8;
  for (int i = 0; i < 4; ++i) sum += static_cast<u64>(number(a >> 8 * i, byte) * number(b >> 8 * i, byte));
  return sum;
}

}  // namespace ptx
