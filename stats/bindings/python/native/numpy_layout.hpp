// NumPy's arrays as they lie in memory, and the numbers of its dtypes.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {

// The beginning of NumPy's arrays and dtypes, as extensions that are compiled against NumPy read it: it is the same in
// all of NumPy 1 and 2 (numpy/ndarraytypes.h). Its __array_struct__ tells as much, and takes four allocations to do so.
struct NumpyDtype {
  PyObject_HEAD PyObject* scalar_type;
  char kind, letter, byte_order, flags;
  int number;
};
struct NumpyArray {
  PyObject_HEAD void* data;
  int dimension_count;
  Py_ssize_t *shape, *stride_bytes;
  PyObject* base;
  const NumpyDtype* dtype;
  int flags;
};
constexpr int kNumpyIsContiguous = 1;

// The dtype of NumPy's number; -1 if tensorstat has no such dtype.
inline std::int32_t dtype_of_numpy(int number) {
  static const auto all = [] {
    std::array<std::int32_t, 24> dtypes;
    dtypes.fill(-1);
    const std::pair<int, const char*> kNames[] = {
        {0, "bool"},     {1, "int8"},       {2, "uint8"},       {3, "int16"},   {4, "uint16"},  {5, "int32"},
        {6, "uint32"},   {7, "int64"},      {8, "uint64"},      {9, "int64"},   {10, "uint64"}, {11, "float32"},
        {12, "float64"}, {14, "complex64"}, {15, "complex128"}, {23, "float16"}};
    static_assert(sizeof(long) == 8, "NumPy's 7 and 8 are C's long");
    for (const auto& [of_numpy, name] : kNames) dtypes[of_numpy] = tensorstat_dtype_named(name);
    return dtypes;
  }();
  return number >= 0 && number < static_cast<int>(all.size()) ? all[number] : -1;
}

}  // namespace tensorstat::python
