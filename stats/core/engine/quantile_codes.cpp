#include "stats/core/engine/quantile_codes.hpp"

#include <algorithm>
#include <tensorstat/dtypes.inc>

#include "precision/scalars.hpp"
#include "stats/core/engine/accumulator_layout.hpp"

namespace {

#include "precision/codes.h"

}  // namespace

namespace tensorstat {
namespace {

constexpr int kWholeBits = WHOLE_BITS;

// The middle of the magnitudes with this code.
constexpr std::uint64_t size_of_code(std::uint32_t code) {
  if (code == 0) return 0;
  const std::uint32_t power = (code - 1) >> kWholeBits;
  const std::uint64_t bits = (code - 1) % (1u << kWholeBits) + (1u << kWholeBits);
  if (power <= kWholeBits) return bits >> (kWholeBits - power);
  const std::uint32_t up = power - kWholeBits;
  return (bits << up) + ((std::uint64_t{1} << up) - 1) / 2;
}

constexpr Coding coding_of_integer(std::size_t bytes, bool is_signed, bool is_bool) {
  if (bytes > 2) {
    const auto bits = static_cast<std::uint32_t>(8 * bytes);  // the codes of 2^(bits - 1) and of 2^bits - 1
    const std::uint32_t most = is_signed ? ((bits - 1) << kWholeBits) + 1 : bits << kWholeBits;
    return {1 << 16, is_signed ? Order::kMagnitude : Order::kUnsigned, 0, most, false, false};
  }
  const std::uint32_t bins = 1u << 8 * bytes;
  return {bins, is_signed ? Order::kComplement : Order::kUnsigned, 0, is_bool ? 1 : bins - 1, false, false};
}
constexpr Coding coding_of_float(std::size_t bytes, std::uint64_t greatest, bool has_infinity, bool lacks_minus_zero) {
  const int shift = CODE_SHIFT_OF_FLOAT(bytes);
  return {1u << (8 * static_cast<int>(bytes) - shift),   Order::kMagnitude,          shift,
          static_cast<std::uint32_t>(greatest >> shift), has_infinity && shift != 0, lacks_minus_zero};
}
constexpr Coding coding_of(Dtype dtype) {
  const precision::DtypeFacts& format = facts(dtype);
  if (format.is_complex) return {0, Order::kUnsigned, 0, 0, false, false};  // complex numbers have no order
  if (format.family == precision::Family::kScale)
    return {256, Order::kUnsigned, 0, 254, false, false, 1};  // NaN is 255
  if (!format.is_float) return coding_of_integer(size_bytes(dtype), format.is_signed, format.is_bool);
  return coding_of_float(size_bytes(dtype), format.largest, !format.is_coded, format.nan_is_minus_zero);
}
#define ROW(id, ...) coding_of(Dtype::id),
constexpr Coding kCodings[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW

}  // namespace

const Coding& coding(Dtype dtype) { return kCodings[static_cast<int>(dtype)]; }

std::uint32_t code_count(Dtype dtype) { return coding(dtype).bins; }
std::uint32_t code_bytes(Dtype dtype) { return coding(dtype).bins > 1u << 16 ? 4 : 2; }

std::uint32_t place_of(Dtype dtype, std::int64_t key) {
  const Coding& how = coding(dtype);
  if (is_float(dtype)) return unsigned_place(how, (key >> how.shift) - how.first_key);
  if (size_bytes(dtype) <= 2) return unsigned_place(how, key);
  if (dtype == Dtype::kUint64) return code_of_size(static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63);
  const auto bits = static_cast<std::uint64_t>(key);
  return unsigned_place(how, key < 0 ? ~std::int64_t{code_of_size(0 - bits)} : std::int64_t{code_of_size(bits)});
}

std::int64_t middle_of(Dtype dtype, std::uint32_t place) {
  const Coding& how = coding(dtype);
  const std::int64_t number = signed_place(how, place);
  if (!is_float(dtype) && size_bytes(dtype) <= 2) return number;
  if (dtype == Dtype::kUint64) return static_cast<std::int64_t>(size_of_code(place) ^ std::uint64_t{1} << 63);
  const auto magnitude = static_cast<std::uint32_t>(number < 0 ? ~number : number + how.first_key);
  if (!is_float(dtype)) {
    // Only the bin of -2^63 has a middle below all integers.
    const std::uint64_t size = std::min(size_of_code(magnitude), std::uint64_t{1} << 63);
    return static_cast<std::int64_t>(number < 0 ? 0 - size : size);
  }
  std::uint64_t bits = std::uint64_t{magnitude} << how.shift;
  if (how.shift != 0 && magnitude != 0 && magnitude != how.greatest) bits += std::uint64_t{1} << (how.shift - 1);
  return number < 0 ? ~static_cast<std::int64_t>(bits) : static_cast<std::int64_t>(bits);
}

Places places_of(Dtype dtype) {
  const Coding& how = coding(dtype);
  if (how.order == Order::kComplement) return {0, how.bins - 1};
  const std::uint32_t last = unsigned_place(how, how.greatest);
  return {how.order == Order::kUnsigned ? 0 : unsigned_place(how, ~std::int64_t{how.greatest}), last};
}

}  // namespace tensorstat
