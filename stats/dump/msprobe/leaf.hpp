// What dump.json says of one tensor.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>

#include "stats/dump/msprobe/settings.hpp"
#include "stats/dump/session/pending_run.hpp"

namespace tensorstat {

struct Leaf {
  std::string_view framework;  // "pytorch", "mindspore" or "mindtorch": it decides about names of types
  std::string_view data_type;  // "float32"
  const Shape& shape;
  std::optional<std::array<std::string, 4>> values;  // Max, Min, Mean and Norm as JSON; nothing: they are not there
  std::string checksum = {}, data_name = {};         // "": there is none
  std::optional<bool> requires_grad = {};            // nothing: false where the framework is pytorch, else not there
};

// As JSON, for the margin.
std::string text_of(const Leaf& leaf);

// The statistics of a leaf, in its order.
inline constexpr Category kLeafStatistics[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};

// Of a tensor that is dumped. `found` has kLeafStatistics, or nothing.
//
// Values are those of msprobe 26.0.0 and before, which says all four of every type, so that its compare has them:
// max, min, avg and l2norm are exact and are rounded to float32, or, of half types where precision is low, to the
// tensor's own type. A bool has Max and Min as true and false; a tensor without dimensions is its own value four times;
// a complex or empty tensor has nulls.
Leaf leaf_of_tensor(const MsprobeSettings& settings, std::string_view framework, const PendingTensor& tensor,
                    const std::optional<Statistics>& found, std::string_view checksum, std::string_view data_name);

// CRC-32 as zlib has it, eight hexadecimal digits; or the exclusive or of the 64-bit words, as "0x" and sixteen. Of the
// bytes in C order, but bfloat16 as float32 where the framework is not pytorch: so msprobe has it.
std::string checksum_of(Summary summary, std::string_view framework, const PendingTensor& tensor,
                        std::span<const std::byte> bytes);

// To the nearest number with so many bits and exponents, ties to even, whatever the rounding mode is; beyond, Inf.
double rounded_to(double number, int bits, int least_exponent, int most_exponent);

}  // namespace tensorstat
