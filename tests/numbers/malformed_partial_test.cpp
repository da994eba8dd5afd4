// Bytes that no serialised partial can be are refused in words that say why.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "precision/partial.h"

namespace tensorstat {
namespace malformed_partial_test {

using Bytes = std::vector<std::byte>;

struct Malformed {
  Bytes bytes;
  std::string_view complaint;
};

constexpr Needs kEverything = kExtrema | kSigns | kSum | kSquares;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Of six float32: 1, -2, 0, NaN, +Inf and -Inf, as far as the words below are concerned.
Partial sound(Needs needs = kEverything) {
  Partial partial(Dtype::kFloat32, Precision::kHigh, needs);
  const auto words = partial.words();
  words[PARTIAL_HIGHEST] = 10;
  words[PARTIAL_LOWEST] = ~std::int64_t{-20};
  words[PARTIAL_COUNT] = 6;
  words[PARTIAL_NANS] = words[PARTIAL_POSITIVE_INFS] = words[PARTIAL_NEGATIVE_INFS] = 1;
  words[PARTIAL_ZEROS] = 1;
  words[PARTIAL_NEGATIVES] = 2;
  words[PARTIAL_FIELDS] = 7;
  words.back() = 5;
  return partial;
}

Bytes with_byte(std::size_t at, int value) {
  Bytes bytes = sound().serialize();
  bytes[at] = static_cast<std::byte>(value);
  return bytes;
}

Bytes with_word(std::size_t word, std::int64_t value, Needs needs = kEverything) {
  Bytes bytes = sound(needs).serialize();
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[16 + 8 * word + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
  }
  return bytes;
}

Bytes with_extrema(std::int64_t highest, std::int64_t lowest) {
  Partial partial = sound();
  partial.words()[PARTIAL_HIGHEST] = highest;
  partial.words()[PARTIAL_LOWEST] = lowest;
  return partial.serialize();
}

Bytes of_length(std::size_t length) {
  Bytes bytes = sound().serialize();
  bytes.resize(length);
  return bytes;
}

// The same with indices, one of them replaced.
Bytes with_index(std::size_t place, std::int64_t value) {
  Partial partial = sound(kIndices);
  const auto indices = partial.words().last(INDEX_WORDS);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = i % 2 == 0 ? 0 : ~std::int64_t{3};
  indices[place] = value;
  return partial.serialize();
}

// The same with exponents, `more` of which are added to one count.
Bytes with_exponent(std::size_t place, std::int64_t more) {
  Partial partial = sound(kSigns | kExponents);
  const auto counts = partial.words().last(EXPONENTS_Float);
  counts.back() = 0;  // what sound() has put there
  counts[0] = 1;
  counts[127] = counts[128] = 1;
  counts[255] = 3;
  counts[place] += more;
  return partial.serialize();
}

std::vector<Malformed> malformed_partials() {
  const std::size_t length = sound().serialize().size();
  const std::size_t last = sound().words().size() - 1;
  constexpr std::string_view kCounts = "counts contradict";
  constexpr std::string_view kCanonical = "canonical form";
  return {
      {{}, "shorter than its header of 16 bytes"},
      {of_length(1), "shorter than its header"},
      {of_length(8), "shorter than its header"},
      {of_length(15), "shorter than its header"},
      {of_length(16), "its length is not that of its dtype"},
      {of_length(17), "its length"},
      {of_length(length - 8), "its length"},
      {of_length(length - 1), "its length"},
      {of_length(length + 1), "its length"},
      {of_length(length + 8), "its length"},
      {of_length(100'000), "its length"},
      {Bytes(length), "does not begin with \"tstatp05\""},
      {with_byte(0, 'T'), "does not begin with"},
      {with_byte(6, '1'), "another version"},
      {with_byte(5, '1'), "does not begin with"},
      {with_byte(7, '1'), "another version"},
      {with_byte(7, '2'), "another version"},
      {with_byte(7, '3'), "another version"},
      {with_byte(7, '4'), "another version"},
      {with_byte(8, kDtypeCount), "its dtype is unknown"},
      {with_byte(8, 255), "its dtype is unknown"},
      {with_byte(8, static_cast<int>(Dtype::kFloat64)), "its length is not that of its dtype"},
      {with_byte(9, 2), "its precision is unknown"},
      {with_byte(9, 255), "its precision is unknown"},
      {with_byte(10, 1), kCanonical},
      {with_byte(11, 1), kCanonical},
      {with_byte(14, 255), "what it keeps is unknown"},
      {with_byte(15, kMd5Digest >> 24), "what it keeps is unknown"},
      {with_byte(12, kEverything & ~kExtrema), kCanonical},
      {with_byte(12, kEverything & ~kSigns), kCanonical},
      {with_byte(12, kEverything & ~kSum), kCanonical},
      {with_byte(12, kEverything & ~kSquares), kCanonical},
      {with_word(PARTIAL_COUNT, 0), kCounts},
      {with_word(PARTIAL_COUNT, 4), kCounts},
      {with_word(PARTIAL_NANS, 7), kCounts},
      {with_word(PARTIAL_NANS, -1), kCounts},
      {with_word(PARTIAL_POSITIVE_INFS, 5), kCounts},
      {with_word(PARTIAL_ZEROS, kMost), kCounts},
      {with_word(PARTIAL_NEGATIVES, 4), kCounts},
      {with_word(PARTIAL_NEGATIVE_INFS, 3), "fewer elements are below zero than are -Inf"},
      {with_word(PARTIAL_NEGATIVES, 0), "fewer elements are below zero than are -Inf"},
      {with_word(PARTIAL_HIGHEST, -21), "its maximum is below its minimum"},
      {with_word(PARTIAL_LOWEST, ~std::int64_t{11}), "its maximum is below its minimum"},
      {with_word(PARTIAL_LOWEST, std::numeric_limits<std::int64_t>::min()), "its maximum is below its minimum"},
      {with_extrema(std::numeric_limits<std::int64_t>::min(), kMost), "an extremum is no element of its dtype"},
      {with_word(PARTIAL_HIGHEST, std::int64_t{1} << 31), "an extremum is no element of its dtype"},
      {with_word(PARTIAL_LOWEST, std::int64_t{1} << 40), "an extremum is no element of its dtype"},
      {with_word(PARTIAL_FIELDS, std::int64_t{1} << 32), kCanonical},
      {with_word(PARTIAL_FIELDS, -1), kCanonical},
      {with_word(last, -1), "a sum that cannot be negative is"},
      {with_word(PARTIAL_HIGHEST, 10, kSum), kCanonical},
      {with_word(PARTIAL_ZEROS, 1, kSum), kCanonical},
      {with_word(PARTIAL_FIELDS, 1, kExtrema), kCanonical},
      {with_word(last, 1, kExtrema), kCanonical},
      {with_word(sound(kSubnormals).words().size() - 1, 7, kSubnormals), kCounts},
      {with_word(sound(kSubnormals).words().size() - 1, -1, kSubnormals), kCounts},
      {with_index(INDEX_AT_FIRST_NAN, std::numeric_limits<std::int64_t>::min()), "an index and its count contradict"},
      {with_index(INDEX_AT_GREATEST, std::numeric_limits<std::int64_t>::min()), "an index and its count contradict"},
      {with_index(INDEX_AT_LEAST, 0), "an index makes no sense"},
      {with_exponent(100, 1), kCounts},
      {with_exponent(100, -1), kCounts},
      {with_exponent(127, -1), kCounts},
  };
}

TEST(MalformedPartial, ThereAreEnough) { EXPECT_GE(malformed_partials().size(), 40u); }

TEST(MalformedPartial, TheOnesTheyAreMadeOfAreSound) {
  for (const Needs needs : {kEverything, Needs{kSum}, Needs{kExtrema}, Needs{kNothing}}) {
    const auto read = Partial::parse(sound(needs).serialize());
    EXPECT_TRUE(read) << read.error().message;
  }
  EXPECT_TRUE(Partial::parse(with_index(INDEX_AT_LEAST, ~std::int64_t{4})));
  EXPECT_TRUE(Partial::parse(with_exponent(100, 0)));
}

TEST(MalformedPartial, IsRefusedWithTheReason) {
  int number = 0;
  for (const auto& [bytes, complaint] : malformed_partials()) {
    const auto read = Partial::parse(bytes);
    ASSERT_FALSE(read) << "number " << number << ": " << complaint;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_TRUE(read.error().message.starts_with("not a partial: ")) << read.error().message;
    EXPECT_NE(read.error().message.find(complaint), std::string::npos)
        << "number " << number << "\nwanted: " << complaint << "\ngot:    " << read.error().message;
    ++number;
  }
}

TEST(MalformedPartial, EveryPrefixIsRefused) {
  const Bytes bytes = sound().serialize();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Partial::parse(std::span(bytes).first(length))) << length;
  }
}

}  // namespace malformed_partial_test
}  // namespace tensorstat
