// SPDX-License-Identifier: Apache-2.0
// Categories and dtypes by name: what can be measured, and of what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tensorstat/catalog.inc>
#include <tensorstat/status.hpp>

namespace tensorstat {

#define TENSORSTAT_ID(id, ...) id,
enum class Category : std::uint32_t { TENSORSTAT_CATEGORIES(TENSORSTAT_ID) };  // and the quantiles, below
enum class Dtype : std::uint8_t { TENSORSTAT_DTYPES(TENSORSTAT_ID) };
#undef TENSORSTAT_ID

#define TENSORSTAT_ONE(...) +1
inline constexpr int kCategoryCount = 0 TENSORSTAT_CATEGORIES(TENSORSTAT_ONE);
inline constexpr int kDtypeCount = 0 TENSORSTAT_DTYPES(TENSORSTAT_ONE);
#undef TENSORSTAT_ONE

// The quantiles pN are categories beside those of the catalog: one for each N from 0 to 100, in thousandths.
inline constexpr std::uint32_t kFirstQuantile = std::uint32_t{1} << 16, kMostThousandths = 100'000;
constexpr Category quantile(std::uint32_t thousandths) { return static_cast<Category>(kFirstQuantile + thousandths); }
constexpr std::uint32_t thousandths(Category quantile) { return static_cast<std::uint32_t>(quantile) - kFirstQuantile; }
constexpr bool is_quantile(Category category) { return thousandths(category) <= kMostThousandths; }
constexpr bool is_category(std::uint32_t number) {
  return number < std::uint32_t{kCategoryCount} || is_quantile(static_cast<Category>(number));
}

// high: avg and l2norm are the exact mathematical value, rounded once.
// low: every square and every sum of a float tensor is held in the tensor's own type.
enum class Precision : std::uint8_t { kHigh, kLow };

// What the value of a category is (see Value, statistics.hpp): how a file writes it and a reader takes it back.
enum class ValueKind : std::uint8_t {
  kElement,  // an element: int64 of signed integers, uint64 of the others and of bool, double of float dtypes
  kSize,     // an element without its sign: uint64 of integer dtypes and bool, double of float dtypes
  kReal,     // a double of every dtype
  kCount,    // a uint64
  kIndex,    // a uint64: the place of an element in C order, where there is one
  kDigest,   // a Digest
  kList,     // an Exponents
};

// Categories in the user's order, each once.
using Categories = std::vector<Category>;

std::string_view name(Category category);    // "negative zero count"
std::string_view column(Category category);  // "Negative Zero Count"
ValueKind kind(Category category);
// For people: what it is, of the elements x, and what NaN, Inf and an empty tensor do to it.
std::string_view formula(Category category);   // "the square root of the sum of x * x"
std::string_view nan_rule(Category category);  // "NaN where an element is; ..."
std::string_view name(Dtype dtype);          // "float32"
constexpr std::uint32_t size_bytes(Dtype dtype);  // of one element; of a packed dtype the byte that several share
constexpr std::uint32_t elements_a_byte(Dtype dtype);  // of a packed dtype; else 1
constexpr bool is_packed(Dtype dtype) { return elements_a_byte(dtype) != 1; }
constexpr bool is_complex(Dtype dtype) { return dtype == Dtype::kComplex64 || dtype == Dtype::kComplex128; }
constexpr Dtype part_of(Dtype complex) { return complex == Dtype::kComplex64 ? Dtype::kFloat32 : Dtype::kFloat64; }
// Whether elements of this dtype have the statistic, which is none otherwise. Complex ones have those that ask for no order
// and are exact of |x|. An element is NaN where a part is, else infinite where a part is, and 0 where both are.
bool has(Dtype dtype, Category category);
// Of elements from the beginning of a byte on: the bytes that hold them, the last one whole; and the elements that fill
// so many bytes.
constexpr std::uint64_t bytes_of(Dtype dtype, std::uint64_t elements);
constexpr std::uint64_t elements_of(Dtype dtype, std::uint64_t bytes);
bool is_float(Dtype dtype);                  // has NaN and Inf
std::string_view name(Precision precision);  // "high"

// Accepts the catalog's name, and the same with - or _ for each space, and pN, as p99.9. Case matters, as it does in
// MindSpore.
std::optional<Category> category_from(std::string_view text);
std::optional<Category> category_of_column(std::string_view heading);  // "P99.9"
std::optional<Dtype> dtype_from(std::string_view text);

// "max,nan-count" or "all", in the order given; a name given twice counts once. Beside the catalog's names it
// takes what other tools call the same: mean (avg), norm, l2 and l2_norm (l2norm), l1_norm (l1norm), amax and cur_amax
// (absmax). The error lists every unknown name and what is known.
Result<Categories> categories_from(std::string_view comma_separated);
Categories all_categories();    // those that "all" means: MindSpore's twelve
Categories every_category();    // those and all others of the catalog: without quantiles
Categories usual_quantiles();   // p0.1, p1, p5, p25, p50, p75, p95, p99, p99.9

std::string version();  // "1.2.3"

#define TENSORSTAT_BYTES(id, name, descr, bytes, elements) bytes,
inline constexpr std::uint8_t kDtypeBytes[] = {TENSORSTAT_DTYPES(TENSORSTAT_BYTES)};
constexpr std::uint32_t size_bytes(Dtype dtype) { return kDtypeBytes[static_cast<int>(dtype)]; }
#undef TENSORSTAT_BYTES
#define TENSORSTAT_ELEMENTS(id, name, descr, bytes, elements) elements,
inline constexpr std::uint8_t kDtypeElements[] = {TENSORSTAT_DTYPES(TENSORSTAT_ELEMENTS)};
constexpr std::uint32_t elements_a_byte(Dtype dtype) { return kDtypeElements[static_cast<int>(dtype)]; }
#undef TENSORSTAT_ELEMENTS
constexpr std::uint64_t bytes_of(Dtype dtype, std::uint64_t elements) {
  const std::uint32_t shared = elements_a_byte(dtype);
  return shared == 1 ? elements * size_bytes(dtype) : elements / shared + (elements % shared != 0);
}
constexpr std::uint64_t elements_of(Dtype dtype, std::uint64_t bytes) {
  return bytes / size_bytes(dtype) * elements_a_byte(dtype);
}

}  // namespace tensorstat
