// SPDX-License-Identifier: Apache-2.0
// All categories (statistics) and dtypes, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/catalog_ids.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// Each quantile pN is a category, too, though not in the catalog's list. N is from 0 to 100, in thousandths.
inline constexpr std::uint32_t kFirstQuantile = std::uint32_t{1} << 16, kMostThousandths = 100'000;
constexpr Category quantile(std::uint32_t thousandths) { return static_cast<Category>(kFirstQuantile + thousandths); }
constexpr std::uint32_t thousandths(Category quantile) { return static_cast<std::uint32_t>(quantile) - kFirstQuantile; }
constexpr bool is_quantile(Category category) { return thousandths(category) <= kMostThousandths; }
constexpr bool is_category(std::uint32_t number) {
  return number < std::uint32_t{kCategoryCount} || is_quantile(static_cast<Category>(number));
}

// high: avg and l2norm are the exact mathematical value, rounded once. low: every square and every sum of a float
// tensor is rounded to the tensor's own dtype.
enum class Precision : std::uint8_t { kHigh, kLow };

// The kind of a category's value (see Value, statistics.hpp). Files are written and read by it.
enum class ValueKind : std::uint8_t {
  kElement,  // an element: int64 for signed integers, uint64 for unsigned integers and bool, double for float dtypes
  kSize,     // a magnitude |x|: uint64 for integers and bool, double for float dtypes
  kReal,     // a double, for every dtype
  kCount,    // a uint64
  kIndex,    // a uint64: the index of an element in C order; monostate if there is none
  kDigest,   // a Digest
  kList,     // an Exponents
};

// Categories in the user's order, each once.
using Categories = std::vector<Category>;

std::string_view name(Category category);    // "negative zero count"
std::string_view column(Category category);  // "Negative Zero Count"
ValueKind kind(Category category);
// Texts for people: the definition over the elements x, and the value for NaN, Inf and an empty tensor.
std::string_view formula(Category category);   // "the square root of the sum of x * x"
std::string_view nan_rule(Category category);  // "NaN if any element is NaN; ..."
// What the pass over a tensor accumulates for it, and which statistics then cost nothing more; for people, too.
std::string cost(Category category);
bool is_digest(Category category);
bool is_of_bytes(Category category);           // it depends on the elements' bytes only, not on their values as numbers
bool counts_casts(Category category);          // `e4m3fn underflow` and the like
bool depends_on_precision(Category category);  // it is computed from a sum, which `low` rounds at each step
std::string_view name(Dtype dtype);            // "float32"
constexpr std::uint32_t size_bytes(Dtype dtype);       // of one element; 1 for a packed dtype
constexpr std::uint32_t elements_a_byte(Dtype dtype);  // for a packed dtype; else 1
constexpr bool is_packed(Dtype dtype) { return elements_a_byte(dtype) != 1; }
constexpr bool is_complex(Dtype dtype) { return dtype == Dtype::kComplex64 || dtype == Dtype::kComplex128; }
constexpr Dtype part_of(Dtype complex) { return complex == Dtype::kComplex64 ? Dtype::kFloat32 : Dtype::kFloat64; }
// Whether the dtype supports the statistic; if not, the value is monostate. Complex tensors support only statistics
// that need no ordering. A complex element is NaN if a part is NaN, else infinite if a part is infinite, and 0 if both
// parts are 0.
bool has(Dtype dtype, Category category);
// The bytes that `elements` take, the last byte counted whole; and the elements that fit into `bytes`.
constexpr std::uint64_t bytes_of(Dtype dtype, std::uint64_t elements);
constexpr std::uint64_t elements_of(Dtype dtype, std::uint64_t bytes);
bool is_float(Dtype dtype);                          // a float family; its elements may be NaN or Inf
std::optional<double> greatest_finite(Dtype dtype);  // 65504 for float16; none for integers, bool and complex dtypes
std::string_view name(Precision precision);          // "high"

// Accepts the catalog's name, with a space, - or _ between words, and quantiles such as p99.9. Case matters, as in
// MindSpore.
std::optional<Category> category_from(std::string_view text);
std::optional<Category> category_of_column(std::string_view heading);  // "P99.9"
std::optional<Dtype> dtype_from(std::string_view text);

// Parses "max,nan-count" or "all". Keeps the order; a repeated name counts once. Also accepts other tools' names: mean
// (avg), norm, l2, l2_norm (l2norm), l1_norm (l1norm), amax, cur_amax (absmax); nan and inf are their counts. The error
// has the unknown names and those nearest to the first.
Result<Categories> categories_from(std::string_view comma_separated);
Categories all_categories();   // what "all" means: MindSpore's twelve
Categories every_category();   // the whole catalog, without quantiles
Categories usual_quantiles();  // p0.1, p1, p5, p25, p50, p75, p95, p99, p99.9

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
