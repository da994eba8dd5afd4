// What is known of a tensor once its pass is done.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include <tensorstat/catalog.hpp>

namespace tensorstat {

// One statistic's value.
//   monostate          there is none: max, min, avg of an empty tensor; a refused MD5. An empty cell.
//   uint64 / int64     counts; max and min of bool (0 or 1) and of the integer dtypes, exact
//   double             max and min of float dtypes (exact: every one fits in binary64); avg; l2norm
//   string             md5 and hash: 32 and 40 lower-case hexadecimal digits
using Value = std::variant<std::monostate, std::uint64_t, std::int64_t, double, std::string>;

// Shortest digits that read back as the same binary64, independent of the locale; "nan", "inf",
// "-inf"; "-0" keeps its sign; "" for monostate. What statistic.csv holds.
std::string to_string(const Value& value);

// The values of one tensor, for the categories that were asked, in their order.
struct Statistics {
  Categories categories;
  std::vector<Value> values;  // as many as categories

  // The value of `category`, or nullptr when it was not asked.
  const Value* find(Category category) const;
};

}  // namespace tensorstat
