// What NumPy makes of two arrays without dimensions.
#pragma once

#include <tensorstat/catalog.hpp>

namespace tensorstat::msprobe {

// |a - b| in the type that NumPy has for both: integers wrap around, and of two bools it is that of floats.
double distance_of_scalars(Dtype of_a, double a, Dtype of_b, double b);

// |a - b| / |b| in float32, or in float64 where a value has no float32; b = 0 adds the type's epsilon to both.
double relative_of_scalars(double a, double b);

// The same of elements of arrays, in float64 or float32.
double relative_of_elements(double a, double b, bool is_double);

// Whether NumPy has relative differences of these two in float64.
bool is_relative_double(Dtype a, Dtype b);

}  // namespace tensorstat::msprobe
