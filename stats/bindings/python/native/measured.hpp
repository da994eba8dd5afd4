// Results of a batch, and the objects that Python has of them: a number is made when somebody asks for it.
#pragma once

#include "stats/bindings/python/native/views.hpp"

namespace tensorstat::python {

// The request of a meter, in a capsule, so that names are parsed once.
struct Request {
  static constexpr const char* kName = "tensorstat_request";
  std::string statistics;
  tensorstat_request request = TENSORSTAT_REQUEST;
  Ref names;  // a tuple of the catalog's names, each once
  std::vector<std::int32_t> numbers;
};
// nullptr, with an exception set, of anything else.
const Request* request_of(PyObject* capsule);

// A capsule of `result`, which it gives back, of tensors of these dtypes and shapes.
Ref batch_of(tensorstat_result* result, const Request& request, std::vector<std::int32_t> dtypes, Shapes shapes);
// tensorstat.Statistics of a tensor of the batch.
PyObject* statistics_of(PyObject* batch, std::size_t tensor);
// The same for values outside of a batch; None stands for an unknown dtype or shape.
PyObject* statistics_of(const Request& request, const tensorstat_value* values, PyObject* dtype = Py_None,
                        PyObject* shape = Py_None);

PyObject* shape_of(std::span<const std::uint64_t> shape);

// An int, a float, the digits of a digest, or None.
PyObject* number_of(const tensorstat_value& value);

}  // namespace tensorstat::python
