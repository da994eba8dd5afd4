// One tensor's object in dump.json.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>

#include "stats/job/dump/msprobe/settings.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

struct Leaf {
  std::string_view framework;  // "pytorch", "mindspore" or "mindtorch": selects the names of types
  std::string_view data_type;  // "float32"
  const Shape& shape;
  std::optional<std::array<std::string, 4>> values;  // Max, Min, Mean and Norm as JSON; nullopt: left out
  std::string checksum = {}, data_name = {};         // "": left out
  std::optional<bool> requires_grad = {};            // nullopt: false if the framework is pytorch, else left out
};

// As JSON, without indentation.
std::string text_of(const Leaf& leaf);

// The statistics in a leaf, in order.
inline constexpr Category kLeafStatistics[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};

// The leaf of a dumped tensor. `statistics` has kLeafStatistics, or nothing.
//
// All four values are written for every type, as by msprobe up to 26.0.0, so that its compare finds them. max, min, avg
// and l2norm are exact, then rounded to float32. With precision low, half types are rounded to their own type. For a
// bool, Max and Min are true or false. A tensor without dimensions has its own value four times. A complex or empty
// tensor has nulls.
Leaf leaf_of_tensor(const MsprobeSettings& settings, std::string_view framework, const PendingTensor& tensor,
                    const std::optional<Statistics>& statistics, std::string_view checksum, std::string_view data_name);

// kCrc32: zlib's CRC-32 as eight hexadecimal digits. kXor: the exclusive or of the 64-bit words, as "0x" and sixteen
// digits. Both cover the bytes in C order. As in msprobe, bfloat16 is converted to float32 first unless the framework
// is pytorch.
std::string checksum_of(Summary summary, std::string_view framework, const PendingTensor& tensor,
                        std::span<const std::byte> bytes);

// Rounds to `bits` bits, with exponents from least_exponent to most_exponent. To nearest, ties to even, in any rounding
// mode. Overflow gives Inf.
double rounded_to(double number, int bits, int least_exponent, int most_exponent);

}  // namespace tensorstat
