// Differences of two NumPy arrays without dimensions.
#pragma once

#include <tensorstat/catalog.hpp>

namespace tensorstat::msprobe {

// |a - b| in NumPy's common type of both. Integers wrap around. Two bools are subtracted as floats.
double distance_of_scalars(Dtype of_a, double a, Dtype of_b, double b);

// |a - b| / |b| in float32, or in float64 if a value exceeds float32. If b is 0, the type's epsilon is added to both.
double relative_of_scalars(double a, double b);

// The same for elements of arrays, in float64 or float32.
double relative_of_elements(double a, double b, bool is_double);

// Whether NumPy computes relative differences of these two dtypes in float64.
bool is_relative_double(Dtype a, Dtype b);

}  // namespace tensorstat::msprobe
