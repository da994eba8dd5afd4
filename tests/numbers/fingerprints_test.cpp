// crc32 and xor64 are those of the tensor's bytes, however it lies in memory and is cut: held to zlib.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/core/engine/needs.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace fingerprints_test {

using Bytes = std::vector<std::byte>;

const Categories kFingerprintsOf = {Category::kCrc32, Category::kXor64};

Bytes any_bytes(std::size_t count, samples::Random& random) {
  Bytes bytes(count);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  return bytes;
}

// "crc32 xor64"
std::string truth(const Bytes& bytes) {
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) words ^= std::to_integer<std::uint64_t>(bytes[i]) << 8 * (i % 8);
  char text[32];
  std::snprintf(text, sizeof text, "%08lx %016llx",
                crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
                static_cast<unsigned long long>(words));
  return text;
}

std::string text_of(const std::span<const Value> values) { return to_string(values[0]) + " " + to_string(values[1]); }

// Lengths around what is taken at a time: of a step of the CRC, a vector, a unit of work, several of them.
TEST(Fingerprints, OfEveryLengthOnEveryEngine) {
  samples::Random random(samples::seed());
  for (const std::size_t count : {0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 1000, 4099, (1 << 20) - 1, (5 << 20) + 13}) {
    const Bytes bytes = any_bytes(count, random);
    for (const EngineUnderTest& under_test : every_engine()) {
      Partial partial(Dtype::kUint8, Precision::kHigh, kFingerprints);
      const Job job{{.dtype = Dtype::kUint8, .element_count = count, .address = bytes.data()}, &partial};
      ASSERT_TRUE(under_test.engine->fold({&job, 1}));
      const Value values[] = {partial.finish(Category::kCrc32), partial.finish(Category::kXor64)};
      EXPECT_EQ(text_of(values), truth(bytes))
          << under_test.name << ", " << count << " bytes, seed " << samples::seed();
    }
  }
}

// Every element of three dimensions, the last one outermost in memory.
TEST(Fingerprints, OfAStridedTensorAreThoseOfItsCOrder) {
  samples::Random random(samples::seed());
  const Bytes stored = any_bytes(5 * 7 * 300 * 2, random);
  const Strides strides{{5, 7, 300}, {2, 10, 70}};
  Bytes in_order;
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      for (std::size_t k = 0; k < 300; ++k) {
        const auto* element = &stored[i * 2 + j * 10 + k * 70];
        in_order.insert(in_order.end(), element, element + 2);
      }
    }
  }
  const Tensor tensor{
      .dtype = Dtype::kInt16, .element_count = 5 * 7 * 300, .address = stored.data(), .strides = &strides};
  const auto measured = Meter().measure({&tensor, 1}, {.categories = kFingerprintsOf, .on = On::kHost});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(text_of(measured->front().statistics.values), truth(in_order));
}

// Parts of odd sizes, each moved to where it begins, in any order, through the written form.
TEST(Fingerprints, OfPartsMergeInAnyOrder) {
  samples::Random random(samples::seed());
  for (int round = 0; round < 50; ++round) {
    const Bytes bytes = any_bytes(random() % 5000, random);
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (std::size_t first = 0; first < bytes.size();) {
      const std::size_t count = std::min<std::size_t>(bytes.size() - first, 1 + random() % 700);
      parts.emplace_back(first, count);
      first += count;
    }
    std::ranges::shuffle(parts, random);
    Meter meter;
    Partial all(Dtype::kUint8, Precision::kHigh, kFingerprints);
    for (const auto& [first, count] : parts) {
      const Tensor part{.dtype = Dtype::kUint8, .element_count = count, .address = &bytes[first]};
      const auto folded = meter.fold({&part, 1}, {.categories = kFingerprintsOf, .on = On::kHost});
      ASSERT_TRUE(folded) << folded.error().message;
      auto arrived = Partial::parse(folded->front().serialize());
      ASSERT_TRUE(arrived) << arrived.error().message;
      ASSERT_TRUE(arrived->move_to(first));
      ASSERT_TRUE(all.merge(*arrived));
    }
    const Value values[] = {all.finish(Category::kCrc32), all.finish(Category::kXor64)};
    ASSERT_EQ(text_of(values), truth(bytes))
        << parts.size() << " parts, seed " << samples::seed() << ", round " << round;
  }
}

TEST(Fingerprints, OfAPartialThatCannotBeAreRefused) {
  Partial wide(Dtype::kUint8, Precision::kHigh, kFingerprints);
  wide.words()[wide.words().size() - 2] = std::int64_t{1} << 32;
  const auto refused = Partial::parse(wide.serialize());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "not a partial: its crc32 has more than 32 bits");

  Partial empty(Dtype::kUint8, Precision::kHigh, kFingerprints);
  empty.words().back() = 1;
  const auto no_elements = Partial::parse(empty.serialize());
  ASSERT_FALSE(no_elements);
  EXPECT_EQ(no_elements.error().message, "not a partial: it has a checksum of no elements");
}

}  // namespace fingerprints_test
}  // namespace tensorstat
