// Pairs of tensors that are hard to compare.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/oracle.hpp"
#include "tests/support/pair_oracle.hpp"
#include "tests/support/samples.hpp"

namespace samples {

// Makes a partner of the same dtype for each element.
struct Partner {
  const char* name;
  void (*change)(std::span<std::byte> element, Random& random);
};
inline constexpr Partner kPartners[] = {
    {"itself", [](std::span<std::byte>, Random&) {}},
    {"one step away", [](std::span<std::byte> x, Random&) { x[0] ^= std::byte{1}; }},
    {"its negative", [](std::span<std::byte> x, Random&) { x.back() ^= std::byte{0x80}; }},
    {"close by", [](std::span<std::byte> x, Random& random) { x[0] ^= static_cast<std::byte>(random() & 15); }},
    {"itself but for a few",
     [](std::span<std::byte> x, Random& random) {
       if (random() % 100 == 0) x[random() % x.size()] ^= static_cast<std::byte>(1 << random() % 8);
     }},
};

inline std::vector<std::byte> beside(tensorstat::Dtype dtype, std::vector<std::byte> bytes, const Partner& partner,
                                     Random& random) {
  const std::size_t size = tensorstat::size_bytes(dtype);
  for (std::size_t offset = 0; offset < bytes.size(); offset += size)
    partner.change(std::span(bytes).subspan(offset, size), random);
  return bytes;
}

inline tensorstat::PairTolerance any_tolerance(Random& random) {
  constexpr double kNumbers[] = {0, 0x1p-20, 1e-3, 0.5, 1, 1e30, 1e-40, 1e300};
  return {kNumbers[random() % std::size(kNumbers)], random() % 2 == 0 ? 0 : kNumbers[random() % std::size(kNumbers)],
          static_cast<tensorstat::PairTolerance::Scale>(random() % 2)};
}

// A tensor from a random distribution of the dtype.
inline std::vector<std::byte> any_of(tensorstat::Dtype dtype, std::size_t count, Random& random) {
  const auto all = of(dtype);
  return all[random() % all.size()].make(dtype, count, random);
}

// Whether every statistic equals the oracle's. `truth` has the order of the list.
using PairTruth = std::array<tensorstat::Value, tensorstat::kPairStatisticCount>;
inline testing::AssertionResult holds(const PairTruth& truth, const tensorstat::PairPartial& partial) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto statistic = static_cast<tensorstat::PairStatistic>(i);
    const tensorstat::Value value = partial.finish(statistic);
    if (oracle::same(truth[i], value)) continue;
    return testing::AssertionFailure() << name(statistic) << "\n  must be " << oracle::shown(truth[i]) << "\n  is      "
                                       << oracle::shown(value);
  }
  return testing::AssertionSuccess();
}

}  // namespace samples
