// What a cast would lose or bring out of range is counted to the element: at every tie, beside it, and of every dtype.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace {

// The ties of e4m3fn, e5m2, float16 and bfloat16, and their greatest and least values.
constexpr double kNumbers[] = {0x1p-10, 0x1p-17, 0x1p-25, 0x1p-134, 0x1p-9,  0x1p-16,  0x1p-24,    0x1p-133,
                               464,     448,     61440,   57344,    65520,   65504,    0x1.ffp127, 0x1.fep127,
                               0,       1,       1e300,   5e-324,   0x1p127, 0x1p-149, INFINITY,   NAN};

template <typename Element, typename Bits>
std::vector<std::byte> around_all() {
  std::vector<Element> elements;
  for (const double number : kNumbers) {
    if (!std::is_floating_point_v<Element> && !(number < 0x1p62)) continue;
    const auto nearest = static_cast<Element>(number);
    for (int step = -2; step <= 2; ++step) {
      const auto bits = static_cast<Bits>(std::bit_cast<Bits>(nearest) + static_cast<Bits>(step));
      elements.push_back(std::bit_cast<Element>(bits));
      elements.push_back(static_cast<Element>(Element(0) - elements.back()));
    }
  }
  elements.push_back(std::numeric_limits<Element>::max());
  elements.push_back(std::numeric_limits<Element>::lowest());
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

// Every code of a dtype of one byte or two.
std::vector<std::byte> every_code(std::size_t element_bytes) {
  std::vector<std::byte> bytes;
  for (unsigned code = 0; code < 1u << 8 * element_bytes; ++code) {
    bytes.push_back(static_cast<std::byte>(code));
    if (element_bytes == 2) bytes.push_back(static_cast<std::byte>(code >> 8));
  }
  return bytes;
}

std::vector<std::byte> awkward(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt32: return around_all<std::int32_t, std::uint32_t>();
    case Dtype::kUint32: return around_all<std::uint32_t, std::uint32_t>();
    case Dtype::kInt64: return around_all<std::int64_t, std::uint64_t>();
    case Dtype::kUint64: return around_all<std::uint64_t, std::uint64_t>();
    case Dtype::kFloat32: return around_all<float, std::uint32_t>();
    case Dtype::kFloat64: return around_all<double, std::uint64_t>();
    default: return every_code(size_bytes(dtype));
  }
}

class Casts : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }
};
INSTANTIATE_TEST_SUITE_P(Dtype, Casts, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// Alone, among elements that no cast changes, and cut off in the middle of a vector.
TEST_P(Casts, CountWhatEachElementBecomes) {
  const std::size_t element = size_bytes(GetParam());
  const std::vector<std::byte> few = awkward(GetParam());
  HeldToOracle held(GetParam());
  held.add("all", few, HeldToOracle::Way{0, kCasts});
  held.add("all but some", std::span(few).first(few.size() / 3 / element * element), HeldToOracle::Way{element, kCasts});
  std::vector<std::byte> among(5 * 2048 * element);
  for (std::size_t at = 0; at < among.size(); at += element) {
    std::memcpy(&among[at], &few[at % 3 == 0 ? at % few.size() / element * element : few.size() / 2 / element * element], element);
  }
  held.add("among others", among, HeldToOracle::Way{0, kCasts});
  held.hold();
}

}  // namespace
}  // namespace tensorstat
