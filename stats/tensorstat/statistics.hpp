// SPDX-License-Identifier: Apache-2.0
// The values of a tensor's statistics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace tensorstat {

// A digest's bytes: 16 for MD5, 20 for SHA-1, 4 for crc32, 8 for xor64.
class Digest {
 public:
  // `bytes` has at most 20 bytes.
  explicit Digest(std::span<const std::byte> bytes);
  // Parses 8, 16, 32 or 40 hexadecimal digits in lower case; nullopt for anything else.
  static std::optional<Digest> from(std::string_view hexadecimal);

  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  std::array<std::byte, 20> bytes_{};
  std::uint8_t size_ = 0;
};

// Lower-case hexadecimal, two digits for each byte, first byte first. All digests are written like this.
std::string to_string(const Digest& digest);

// A histogram of magnitudes by powers of two. It helps to choose a shorter format, a scale or a clipping bound.
struct ExponentCounts {
  // Counts the elements with 2^exponent <= |x| < 2^(exponent + 1).
  struct Binade {
    int exponent;
    std::uint64_t count;
    friend bool operator==(const Binade&, const Binade&) = default;
  };
  std::uint64_t zero = 0, subnormal = 0, inf = 0, nan = 0;  // subnormals of the dtype are in no binade
  std::vector<Binade> binades;                              // only non-empty ones, by ascending exponent
  friend bool operator==(const ExponentCounts&, const ExponentCounts&) = default;
};

// ExponentCounts as a Value. Copies share the counts.
class Exponents {
 public:
  explicit Exponents(ExponentCounts counts) : counts_(std::make_shared<const ExponentCounts>(std::move(counts))) {}
  // Parses what to_string writes; nullopt for anything else.
  static std::optional<Exponents> from(std::string_view text);

  const ExponentCounts& operator*() const { return *counts_; }
  const ExponentCounts* operator->() const { return counts_.get(); }
  friend bool operator==(const Exponents& a, const Exponents& b) { return *a == *b; }

 private:
  std::shared_ptr<const ExponentCounts> counts_;
};

// "zero:2 subnormal:0 -1:7 0:12 inf:0 nan:1": a binade is written as exponent:count. A cell of statistic.csv holds this
// text.
std::string to_string(const Exponents& exponents);

// One statistic's value.
//   monostate          no value, such as max, min or avg of an empty tensor, or a refused MD5; an empty cell
//   uint64 / int64     counts and indices; max, min and absmax of bool (0 or 1) and of the integer dtypes, exact
//   double             max, min and absmax of float dtypes (exact: every element fits in binary64); all other numbers
//   Digest             md5, hash, crc32 and xor64
//   Exponents          exponents
using Value = std::variant<std::monostate, std::uint64_t, std::int64_t, double, Digest, Exponents>;

// The text of a value as statistic.csv holds it, independent of the locale. Numbers have the shortest digits that read
// back as the same binary64; "nan", "inf", "-inf"; "-0" keeps its sign. A digest is hexadecimal, Exponents as above,
// monostate is "".
std::string to_string(const Value& value);

// The values of one tensor, in the order of the requested categories. A view: it owns nothing.
struct StatisticsView {
  std::span<const Category> categories;
  std::span<const Value> values;  // as many as categories

  // The value of `category`, or nullptr if it was not requested.
  const Value* find(Category category) const;
};

// A StatisticsView's content, copied and owned.
struct Statistics {
  Categories categories;
  std::vector<Value> values;

  Statistics() = default;
  Statistics(Categories these, std::vector<Value> of_these)
      : categories(std::move(these)), values(std::move(of_these)) {}
  explicit Statistics(const StatisticsView& seen)
      : categories(seen.categories.begin(), seen.categories.end()), values(seen.values.begin(), seen.values.end()) {}
  operator StatisticsView() const { return {categories, values}; }

  const Value* find(Category category) const { return StatisticsView(*this).find(category); }
};

}  // namespace tensorstat
