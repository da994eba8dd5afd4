#include "stats/job/dump/mindspore/device_rows.hpp"

#include <algorithm>
#include <variant>

namespace tensorstat {
namespace {

constexpr std::string_view kHalfOrSingle[] = {"float16", "bfloat16", "float32"};
constexpr std::string_view kAveraged[] = {"float16", "bfloat16", "float32", "float64", "int8",
                                          "uint8",   "int16",    "int32",   "int64"};

bool is_there(Category category, std::string_view data_type, Precision precision) {
  if (category == Category::kL2norm) return std::ranges::count(kHalfOrSingle, data_type) != 0;
  if (std::ranges::count(kAveraged, data_type) != 0) return true;
  return data_type == "bool" && category != Category::kAvg && precision == Precision::kHigh;
}

}  // namespace

bool is_of_device(Category category) {
  constexpr Category kOfDevice[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};
  return std::ranges::count(kOfDevice, category) != 0;
}

Statistics as_of_device(Statistics statistics, std::string_view data_type, Precision precision) {
  for (std::size_t i = 0; i < statistics.values.size(); ++i) {
    const Category category = statistics.categories[i];
    if (!is_there(category, data_type, precision)) statistics.values[i] = Value{};
    const bool is_computed = category == Category::kAvg || category == Category::kL2norm;
    auto* real = std::get_if<double>(&statistics.values[i]);
    if (real != nullptr && is_computed && precision == Precision::kHigh) *real = static_cast<float>(*real);
  }
  return statistics;
}

}  // namespace tensorstat
