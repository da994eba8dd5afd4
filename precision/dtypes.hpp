// The table of dtypes (dtypes.txt, families.txt) for C++: a row for each dtype of the catalog, at its number.
#pragma once

#include <cstdint>
#include <string_view>

#include "precision/generated/dtypes.h"
#include "precision/generated/families.h"

namespace tensorstat::precision {

#define ROW(family, ...) k##family,
enum class Family : std::uint8_t { FAMILIES(ROW) };
#undef ROW

// The fields are the columns, under their names.
struct DtypeFacts {
  std::string_view name;
  Family family;
  bool is_complex, is_float, is_signed, is_bool, is_coded, unpacks, has_low;
  int bits, code_bits;
  // Of floats.
  std::uint64_t largest;
  bool has_inf, nan_is_minus_zero;
  int mantissa_shift, first_unit;
  // Of the family's sums.
  int sum_exponent, exponents;
};

#define PER_DTYPE "precision/dtype_facts.inc"
#define PER_DTYPE_IF 1
#include "precision/generated/each_dtype.h"
#define ROW(name) dtype_##name::kFacts,
inline constexpr DtypeFacts kDtypeFacts[] = {DTYPES(ROW)};
#undef ROW

}  // namespace tensorstat::precision
