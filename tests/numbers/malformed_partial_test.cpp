// Bytes that no serialised partial can be are refused in words that say why.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "precision/partial.h"
#include "stats/core/engine/needs.hpp"
#include "tests/support/record_of.hpp"

namespace tensorstat {
namespace malformed_partial_test {

using Bytes = std::vector<std::byte>;

struct Malformed {
  Bytes bytes;
  std::string_view complaint;
};

constexpr Needs kEverything = kExtrema | kSigns | kSum | kSquares;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// A partial of six float32: 1, -2, 0, NaN, +Inf and -Inf, as far as the words below are concerned.
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

Bytes with_byte(std::size_t offset, int value) {
  Bytes bytes = sound().serialize();
  bytes[offset] = static_cast<std::byte>(value);
  return bytes;
}

Bytes with_word(std::string_view name, std::int64_t value, Needs needs = kEverything, std::size_t word = 0) {
  Bytes bytes = sound(needs).serialize();
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[payload_of(bytes, name) + 8 * word + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
  }
  return bytes;
}

// The record of that name is replaced by other bytes. The header says the new length.
Bytes with_record(std::string_view name, const Bytes& by, Needs needs = kEverything) {
  Bytes bytes = sound(needs).serialize();
  const std::size_t begin = record_of(bytes, name), payload = payload_of(bytes, name);
  const auto length = std::to_integer<std::size_t>(bytes[payload - 4]);  // all lengths here are below 256
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(payload + length));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(begin), by.begin(), by.end());
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<std::byte>((bytes.size() - 16) >> 8 * i);
  return bytes;
}

// A record with a payload of zeros.
Bytes record(std::string_view name, std::size_t payload, std::size_t length) {
  Bytes bytes{static_cast<std::byte>(name.size())};
  for (const char c : name) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(length >> 8 * i));
  bytes.resize(bytes.size() + payload);
  return bytes;
}
Bytes record(std::string_view name, std::size_t payload = 8) { return record(name, payload, payload); }

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
  constexpr std::string_view kCounts = "counts contradict";
  constexpr std::string_view kCanonical = "canonical form";
  return {
      {{}, "shorter than its header of 16 bytes"},
      {of_length(1), "shorter than its header"},
      {of_length(8), "shorter than its header"},
      {of_length(15), "shorter than its header"},
      {of_length(16), "its length is not what its header says"},
      {of_length(17), "its length is not what its header says"},
      {of_length(length - 8), "its length is not what its header says"},
      {of_length(length - 1), "its length is not what its header says"},
      {of_length(length + 1), "its length is not what its header says"},
      {of_length(length + 8), "its length is not what its header says"},
      {of_length(100'000), "its length is not what its header says"},
      {Bytes(length), "does not begin with \"tstatp06\""},
      {with_byte(0, 'T'), "does not begin with"},
      {with_byte(6, '1'), "another version"},
      {with_byte(5, '1'), "does not begin with"},
      {with_byte(7, '1'), "another version"},
      {with_byte(7, '2'), "another version"},
      {with_byte(7, '3'), "another version"},
      {with_byte(7, '4'), "another version"},
      {with_byte(7, '5'), "another version of the library (not 06): fold its tensors again"},
      {with_byte(8, kDtypeCount), "its dtype is unknown"},
      {with_byte(8, 255), "its dtype is unknown"},
      {with_byte(8, static_cast<int>(Dtype::kFloat64)), "'SQUARES' has the wrong length for its dtype"},
      {with_byte(9, 2), "its precision is unknown"},
      {with_byte(9, 255), "its precision is unknown"},
      {with_byte(10, 1), kCanonical},
      {with_byte(11, 1), kCanonical},
      {with_byte(12, 255), "its length is not what its header says"},
      {with_byte(15, 255), "its length is not what its header says"},
      {with_record("SUM", record("SUN", 48)), "a partial with 'SUN', which this version does not know"},
      {with_record("COUNT", record("\n\x1b", 8)), "a partial with '\\n\\x1b', which this version does not know"},
      {with_record("COUNT", record(std::string(255, '\1'), 8)), "\\x01\\x01...', which this version does not know"},
      {with_record("COUNT", record("", 8)), "a partial with '', which this version does not know"},
      {with_record("COUNT", record("COUNT", 8, 0xffff'ffff)), "it ends within a record"},
      {with_record("ZEROS", record("ZEROS", 0, 8)), "it ends within a record"},
      {with_record("ZEROS", {std::byte{255}}), "it ends within a record"},
      {with_record("COUNT", {}), "it lacks 'COUNT'"},
      {with_record("ZEROS", {}), "it lacks 'ZEROS'"},
      {with_record("LOWEST", {}), "it lacks 'LOWEST'"},
      {with_record("LOWEST", record("HIGHEST")), "the names of its accumulators do not ascend"},
      {with_record("HIGHEST", record("LOWEST")), "the names of its accumulators do not ascend"},
      {with_record("ZEROS", record("ZEROS", 16)), "'ZEROS' has the wrong length for its dtype"},
      {with_record("ZEROS", record("ZEROS", 0)), "'ZEROS' has the wrong length for its dtype"},
      {with_record("XOR64", record("CAST_SCALE"), kXor64), "the names of its accumulators do not ascend"},
      {with_record("SUBNORMALS", record("BINS", 13), kSubnormals), "the names of its accumulators do not ascend"},
      {with_word("COUNT", 0), kCounts},
      {with_word("COUNT", 4), kCounts},
      {with_word("NANS", 7), kCounts},
      {with_word("NANS", -1), kCounts},
      {with_word("POSITIVE_INFS", 5), kCounts},
      {with_word("ZEROS", kMost), kCounts},
      {with_word("NEGATIVES", 4), kCounts},
      {with_word("NEGATIVE_INFS", 3), "fewer elements are below zero than are -Inf"},
      {with_word("NEGATIVES", 0), "fewer elements are below zero than are -Inf"},
      {with_word("HIGHEST", -21), "its maximum is below its minimum"},
      {with_word("LOWEST", ~std::int64_t{11}), "its maximum is below its minimum"},
      {with_word("LOWEST", std::numeric_limits<std::int64_t>::min()), "its maximum is below its minimum"},
      {with_extrema(std::numeric_limits<std::int64_t>::min(), kMost), "an extremum is no element of its dtype"},
      {with_word("HIGHEST", std::int64_t{1} << 31), "an extremum is no element of its dtype"},
      {with_word("LOWEST", std::int64_t{1} << 40), "an extremum is no element of its dtype"},
      {with_word("SUM", std::int64_t{1} << 32), kCanonical},
      {with_word("SUM", -1), kCanonical},
      {with_word("SQUARES", -1, kEverything, SQUARE_WORDS_Float - 1), "a sum that cannot be negative is"},
      {with_word("SUBNORMALS", 7, kSubnormals), kCounts},
      {with_word("SUBNORMALS", -1, kSubnormals), kCounts},
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

// Digests do not merge: a partial does not keep them, and what is written is read back.
TEST(MalformedPartial, ADigestIsNotKept) {
  Partial partial(Dtype::kFloat32, Precision::kHigh, kSum | kDigests);
  EXPECT_EQ(Needs{kSum}, partial.needs());
  auto read = Partial::parse(partial.serialize());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->merge(partial));
}

// The form that other versions read and write. A row's id is a name in it: renaming one would break it.
TEST(WrittenPartial, HasTheseNames) {
  const Bytes bytes = Partial(Dtype::kFloat32, Precision::kHigh, ~Needs{0}).serialize();
  std::string names;
  for (std::size_t offset = 16; offset < bytes.size();) {
    const auto length = std::to_integer<std::size_t>(bytes[offset]);
    const std::string name(reinterpret_cast<const char*>(&bytes[offset + 1]), length);
    names += name + " ";
    const std::size_t payload = payload_of(bytes, name);
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= std::to_integer<std::size_t>(bytes[payload - 4 + i]) << 8 * i;
    offset = payload + size;
  }
  EXPECT_EQ(
      names,
      "ABSOLUTE AT_FIRST_INF AT_FIRST_NAN AT_GREATEST AT_LEAST BFLOAT16_OVERFLOW BFLOAT16_UNDERFLOW BINS CAST_SCALE "
      "COUNT CRC32 E4M3FN_OVERFLOW E4M3FN_UNDERFLOW E5M2_OVERFLOW E5M2_UNDERFLOW EXPONENTS FINITE_HIGHEST "
      "FINITE_LOWEST FLOAT16_OVERFLOW FLOAT16_UNDERFLOW HIGHEST LEAST_SIZE LOWEST MINUS_ZEROS NANS NEGATIVES "
      "NEGATIVE_INFS OVERFLOWS POSITIVE_INFS SQUARES SUBNORMALS SUM XOR64 ZEROS ");
}

TEST(MalformedPartial, EveryPrefixIsRefused) {
  const Bytes bytes = sound(kSum).serialize();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(Partial::parse(std::span(bytes).first(length))) << length;
  }
}

}  // namespace malformed_partial_test
}  // namespace tensorstat
