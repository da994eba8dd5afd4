// SPDX-License-Identifier: Apache-2.0
// What is known of a tensor once its pass is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tensorstat/catalog.hpp>

namespace tensorstat {

// A digest's bytes: 16 of MD5, 20 of SHA-1.
class Digest {
 public:
  // `bytes` are at most 20.
  explicit Digest(std::span<const std::byte> bytes);
  // Of 8, 16, 32 or 40 hexadecimal digits in lower case; nullopt of anything else.
  static std::optional<Digest> from(std::string_view hexadecimal);

  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  std::array<std::byte, 20> bytes_{};
  std::uint8_t size_ = 0;
};

// Lower-case hexadecimal digits, two a byte, first byte first: how every digest is written.
std::string to_string(const Digest& digest);

// How many elements are how large: where a tensor's values lie, for a shorter format, a scale, a clipping.
struct ExponentCounts {
  // Those with 2^exponent <= |x| < 2^(exponent + 1).
  struct Binade {
    int exponent;
    std::uint64_t count;
    friend bool operator==(const Binade&, const Binade&) = default;
  };
  std::uint64_t zero = 0, subnormal = 0, inf = 0, nan = 0;  // subnormals, by the dtype, are in no binade
  std::vector<Binade> binades;                              // only those that hold any, from the least exponent on
  friend bool operator==(const ExponentCounts&, const ExponentCounts&) = default;
};

// The same as a value: copies share it.
class Exponents {
 public:
  explicit Exponents(ExponentCounts counts) : counts_(std::make_shared<const ExponentCounts>(std::move(counts))) {}
  // Of what to_string gives; nullopt of anything else.
  static std::optional<Exponents> from(std::string_view text);

  const ExponentCounts& operator*() const { return *counts_; }
  const ExponentCounts* operator->() const { return counts_.get(); }
  friend bool operator==(const Exponents& a, const Exponents& b) { return *a == *b; }

 private:
  std::shared_ptr<const ExponentCounts> counts_;
};

// "zero:2 subnormal:0 -1:7 0:12 inf:0 nan:1", a binade by its exponent: what a cell of statistic.csv holds.
std::string to_string(const Exponents& exponents);

// One statistic's value.
//   monostate          there is none: max, min, avg and the like of an empty tensor; a refused MD5. An empty cell.
//   uint64 / int64     counts and indices; max, min and absmax of bool (0 or 1) and of the integer dtypes, exact
//   double             max, min and absmax of float dtypes (exact: every one fits in binary64); all other numbers
//   Digest             md5 and hash
//   Exponents          exponents
using Value = std::variant<std::monostate, std::uint64_t, std::int64_t, double, Digest, Exponents>;

// Shortest digits that read back as the same binary64, independent of the locale; "nan", "inf",
// "-inf"; "-0" keeps its sign; hexadecimal digits of a digest; the counts of exponents; "" for monostate. What statistic.csv holds.
std::string to_string(const Value& value);

// The values of one tensor, for the categories that were asked, in their order: seen, not held.
struct StatisticsView {
  std::span<const Category> categories;
  std::span<const Value> values;  // as many as categories

  // The value of `category`, or nullptr when it was not asked.
  const Value* find(Category category) const;
};

// The same, held.
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
