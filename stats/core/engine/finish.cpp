#include "stats/core/engine/finish.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <tensorstat/catalog.inc>
#include <utility>

#include "precision/round.hpp"
#include "precision/scalars.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/finished_sums.hpp"
#include "stats/core/engine/quantile_codes.hpp"
#include "stats/core/engine/stored_float.hpp"

namespace {
#include "precision/checksum.h"
}

namespace tensorstat {
namespace {

// Reads the value of every category from a partial's words.
class Finished : public FinishedSums {
 public:
  using FinishedSums::FinishedSums;

 private:
  // A number that becomes a Value.
  using Number = std::variant<std::monostate, std::uint64_t, std::int64_t, double>;

  // The result of a row's expression: a number, a Digest or a list; an optional one; or a function that writes the
  // value.
  template <typename Term>
  [[gnu::always_inline]] static void put_value(Term&& term, Value* to) {
    if constexpr (std::invocable<Term&, Value*>) {
      term(to);
    } else if constexpr (requires { term.has_value(); }) {
      term.has_value() ? std::construct_at(to, *term) : std::construct_at(to);
    } else {
      std::construct_at(to, std::forward<Term>(term));
    }
  }

  // The terms of the catalog's rows, here and below; terms of sums are in the base.
  static std::monostate nothing() { return {}; }

  auto extremum(std::int64_t key) const {
    return [this, key](Value* to) { put_extremum(key, to); };
  }
  auto finite_extremum(std::int64_t key) const {
    return [this, key](Value* to) { finite_ == 0 ? void(std::construct_at(to)) : put_key(key, to); };
  }
  auto first_of(std::initializer_list<std::size_t> indices) const {
    std::int64_t complement = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t row : indices) complement = std::max(complement, index(row));
    return [complement](Value* to) { put_index(complement, to); };
  }
  auto absmax() const {
    return [this](Value* to) { put_absmax(to); };
  }
  auto absmin() const {
    return [this](Value* to) { put_absmin(to); };
  }
  auto dynamic_range() const {
    return [this](Value* to) { put_dynamic_range(to); };
  }
  auto quantile_of(std::uint32_t thousandths) const {
    return [this, thousandths](Value* to) { put_quantile(thousandths, to); };
  }

  // ~index of a row of precision/indices.h, by its INDEX_AT_; the least integer if no element has it.
  std::int64_t index(std::size_t row) const { return partial_.words[first_index(partial_.dtype) + row]; }

  static void put_index(std::int64_t first, Value* to) {
    if (first == std::numeric_limits<std::int64_t>::min()) {
      std::construct_at(to);
    } else {
      std::construct_at(to, static_cast<std::uint64_t>(~first));
    }
  }

  template <typename To>
  void put_extremum(std::int64_t key, To* to) const {
    if (n_ == 0) {
      std::construct_at(to);
    } else if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else {
      put_key(key, to);
    }
  }

  // The element with this order-preserving key.
  template <typename To>
  void put_key(std::int64_t key, To* to) const {
    const Dtype dtype = partial_.dtype;
    if (kStoredFloats[static_cast<int>(dtype)].is_float) {
      std::construct_at(to, float_of_key(dtype, key));
    } else if (dtype == Dtype::kUint64) {
      std::construct_at(to, static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63);
    } else if (is_signed_integer(dtype)) {
      std::construct_at(to, key);
    } else {
      std::construct_at(to, static_cast<std::uint64_t>(key));
    }
  }

  // Over the elements that are not NaN. The first and the last are the extrema; all others are clamped to these.
  [[gnu::noinline]] void put_quantile(std::uint32_t thousandths, Value* to) const {
    constexpr std::uint64_t kWhole = kMostThousandths;
    const std::uint64_t n = n_ - nans_;
    // ceil(n * thousandths / kWhole) without overflow.
    const std::uint64_t rounded_up = (n % kWhole * thousandths + kWhole - 1) / kWhole;
    const std::uint64_t rank = std::max<std::uint64_t>(n / kWhole * thousandths + rounded_up, 1);
    const std::int64_t lowest = ~partial_.words[PARTIAL_LOWEST], highest = partial_.words[PARTIAL_HIGHEST];
    const auto place = n == 0 ? std::nullopt : partial_.bins.place_of_rank(rank);
    if (!place || lowest > highest) return std::construct_at(to), void();
    if (rank == 1 || rank == n) return put_key(rank == 1 ? lowest : highest, to);
    put_key(std::clamp(middle_of(partial_.dtype, *place), lowest, highest), to);
  }

  // absmax: the size of the extremum that is farther from 0.
  template <typename To>
  void put_absmax(To* to) const {
    Number most, least;
    put_extremum(partial_.words[PARTIAL_HIGHEST], &most);
    put_extremum(~partial_.words[PARTIAL_LOWEST], &least);
    if (const auto* top = std::get_if<double>(&most)) {
      const double a = std::fabs(*top), b = std::fabs(std::get<double>(least));
      std::construct_at(to, exceeds(a, b) ? a : b);
    } else if (const auto* signed_top = std::get_if<std::int64_t>(&most)) {
      const auto size = [](std::int64_t x) {
        return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
      };
      std::construct_at(to, std::max(size(*signed_top), size(std::get<std::int64_t>(least))));
    } else {
      std::visit([to](auto number) { std::construct_at(to, number); }, most);  // unsigned, or nothing
    }
  }

  // The key is half the range of the dtype's unsigned bits, less the size.
  bool has_least_size() const {
    return element(ELEMENT_WORD_LEAST_SIZE) != static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
  }
  std::uint64_t least_size() const {
    const int bits = key_bits(partial_.dtype);
    return ((std::uint64_t{1} << (bits - 1)) - element(ELEMENT_WORD_LEAST_SIZE)) & (~std::uint64_t{0} >> (64 - bits));
  }

  void put_absmin(Value* to) const {
    if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else if (!has_least_size()) {
      std::construct_at(to);
    } else if (is_float(partial_.dtype)) {
      std::construct_at(to, float_of_key(partial_.dtype, static_cast<std::int64_t>(least_size())));
    } else {
      std::construct_at(to, least_size());
    }
  }

  void put_dynamic_range(Value* to) const {
    const precision::Size most = larger_size(partial_.words[PARTIAL_HIGHEST], ~partial_.words[PARTIAL_LOWEST]);
    if (nans_ != 0) {
      std::construct_at(to, kNan);
    } else if (!has_least_size() || n_ == 0 || most.significand == 0) {
      std::construct_at(to);  // the last two cases occur only for parsed bytes that were no partial
    } else if (positive_infs_ != 0 || negative_infs_ != 0) {
      std::construct_at(to, kInfinity);
    } else {
      const bool is_real = is_float(partial_.dtype);
      const auto size = least_size();
      const precision::Size least =
          is_real ? size_of(float_of_key(partial_.dtype, static_cast<std::int64_t>(size))) : precision::Size{size, 0};
      std::construct_at(to, precision::round_log2(most, least, own_ ? precision::kBinary64 : format_));
    }
  }

  // The size of the element that is farther from 0: the one with this key, or the other.
  precision::Size larger_size(std::int64_t key, std::int64_t other) const {
    if (is_float(partial_.dtype)) {
      const double a = std::fabs(float_of_key(partial_.dtype, key)), b = std::fabs(float_of_key(partial_.dtype, other));
      return size_of(exceeds(a, b) ? a : b);
    }
    const auto size = [this](std::int64_t x) {
      const auto bits = static_cast<std::uint64_t>(x);
      return partial_.dtype == Dtype::kUint64 ? bits ^ std::uint64_t{1} << 63 : x < 0 ? 0 - bits : bits;
    };
    return {std::max(size(key), size(other)), 0};
  }

  std::uint64_t fingerprint(std::size_t which) const { return word(first_fingerprint(partial_.dtype) + which); }

  // A CRC starts with all ones, which are advanced by n bytes, and is inverted at the end.
  std::uint32_t crc32() const {
    const auto remainder = static_cast<std::uint32_t>(fingerprint(FINGERPRINT_WORD_CRC32));
    return ~crc_moved(~remainder, crc_on, bytes_of(partial_.dtype, n_));
  }

  // A digest of the number's bytes, highest first, so that its digits are the number's digits.
  template <typename Number>
  static Digest digest(Number number) {
    std::array<std::byte, sizeof number> bytes;
    for (std::size_t i = bytes.size(); i-- != 0; number >>= 7, number >>= 1) bytes[i] = static_cast<std::byte>(number);
    return Digest(bytes);
  }

  Exponents exponents() const {
    const auto counts = partial_.words.subspan(first_exponent(partial_.dtype));
    const auto count = [&](std::size_t i) { return static_cast<std::uint64_t>(counts[i]); };
    ExponentCounts histogram;
    histogram.zero = word(PARTIAL_ZEROS);
    histogram.subnormal = count(0) - histogram.zero;
    histogram.inf = positive_infs_ + negative_infs_;
    histogram.nan = nans_;
    const int bias = is_float(partial_.dtype) ? kStoredFloats[static_cast<int>(partial_.dtype)].bias : 1;
    for (std::size_t i = 1; i < counts.size(); ++i) {
      const std::uint64_t finite =
          count(i) - (i == special_exponent(partial_.dtype) ? histogram.inf + histogram.nan : 0);
      if (finite != 0) histogram.binades.push_back({static_cast<int>(i) - bias, finite});
    }
    return Exponents(std::move(histogram));
  }

 public:
  // Writes the value of a category to `to`, or an empty value for a digest. `to` need not be constructed. It is written
  // where it stays, because copying a value that was just written in parts waits for the parts. The catalog's rows
  // define the value.
  [[gnu::always_inline]] void put(Category category, Value* to) const {
    using enum precision::Deviation;
#define ROW(id, name, column, kind, in_all, of_complex, needs, formula, nan_rule, value) return put_value(value, to);
    if (is_quantile(category)) TENSORSTAT_QUANTILE(ROW)
#undef ROW
#define ROW(id, name, column, kind, in_all, of_complex, needs, formula, nan_rule, value) \
  case Category::id:                                                                     \
    return put_value(value, to);
    switch (category) { TENSORSTAT_CATEGORIES(ROW) }
#undef ROW
  }
};

// put() is called only here, so that it is inlined into the loop. A call for each value took 6 % more instructions for
// a small tensor.
void put_all(const Finished& finished, std::span<const Category> categories, Value* values) {
  for (const Category category : categories) finished.put(category, values++);
}

// For categories that the partial may not keep, or that complex elements do not have.
void put_kept(PartialView partial, bool to_binary32, std::span<const Category> categories, Value* values) {
  partial.needs = kept(partial.dtype, partial.needs);
  const Finished finished(partial, to_binary32);
  for (const Category& category : categories) {
    const bool is_kept = (needs(category) & ~partial.needs) == 0 && has(partial.dtype, category);
    if (is_kept) {
      put_all(finished, {&category, 1}, values);
    } else {
      std::construct_at(values);
    }
    ++values;
  }
}

}  // namespace

Value finish(const PartialView& partial, Category category, bool to_binary32) {
  Value value;
  put_kept(partial, to_binary32, {&category, 1}, &value);
  return value;
}

void finish(const PartialView& partial, std::span<const Category> categories, Value* values) {
  if (is_complex(partial.dtype)) return put_kept(partial, false, categories, values);
  put_all(Finished(partial, false), categories, values);
}

}  // namespace tensorstat
