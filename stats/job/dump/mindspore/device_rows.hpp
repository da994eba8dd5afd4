// The values in MindSpore's rows if its device computes them (stat_calc_mode "device"), as of 2.7.
#pragma once

#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// max, min, avg and l2norm: the device has no others.
bool is_of_device(Category category);

// Removes the values that the device does not compute. It computes:
//   float16, bfloat16, float32          max, min, avg, l2norm
//   float64, int8 to int64, uint8       max, min, avg
//   bool                                max, min; with precision low, none
//   other types                         none
// With precision high, avg and l2norm are rounded to float32.
//
// Source: MindSpore's debug/data_dump/device_statistic, which calls aclnn's Max, Min, Mean and Norm.
Statistics as_of_device(Statistics statistics, std::string_view data_type, Precision precision);

}  // namespace tensorstat
