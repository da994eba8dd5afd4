// The table of dtypes (dtypes.txt, families.txt) for C++. The index of a row is the number of its dtype in the catalog.
#pragma once

#include <cstdint>
#include <string_view>

#include "precision/generated/dtypes.h"
#include "precision/generated/families.h"

namespace tensorstat::precision {

#define ROW(family, ...) k##family,
enum class Family : std::uint8_t { FAMILIES(ROW) };
#undef ROW

// Each field is the column of this name.
struct DtypeFacts {
  std::string_view name;
  Family family;
  bool is_complex, is_float, is_signed, is_bool, is_coded, unpacks, has_low;
  int bits, code_bits;
  // For floats.
  std::uint64_t largest;
  bool has_inf, nan_is_minus_zero;
  int mantissa_shift, first_unit;
  // For the family's sums.
  int sum_exponent, exponents;
};

#define PER_DTYPE "precision/dtype_facts.inc"
#define PER_DTYPE_IF 1
#include "precision/generated/each_dtype.h"
#define ROW(name) dtype_##name::kFacts,
inline constexpr DtypeFacts kDtypeFacts[] = {DTYPES(ROW)};
#undef ROW

}  // namespace tensorstat::precision
