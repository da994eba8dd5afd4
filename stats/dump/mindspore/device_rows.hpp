// What MindSpore's rows hold where its device computes them (stat_calc_mode "device"), of 2.7 and later.
#pragma once

#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {

// max, min, avg and l2norm: the device has no others.
bool is_of_device(Category category);

// The values that are not there, taken away: of float16, bfloat16 and float32 there are all; of float64, int8 to int64
// and uint8, no l2norm; of a bool max and min, and none where the precision is low; of other types, none. With
// precision high, avg and l2norm are float32.
//
// From aclnn's Max, Min, Mean and Norm as MindSpore's debug/data_dump/device_statistic calls them.
Statistics as_of_device(Statistics found, std::string_view data_type, Precision precision);

}  // namespace tensorstat
