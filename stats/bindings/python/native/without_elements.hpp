// Tensors of PyTorch that have no elements of their own: nested, fake, wrapped ones. All of it needs the GIL.
#pragma once

#include <string>

#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {

// Raises TENSORSTAT_UNSUPPORTED. Returns false.
inline bool refuse(const std::string& words) { return raise(TENSORSTAT_UNSUPPORTED, words), false; }

std::string class_of(PyObject* x);

// A nested tensor of the strided layout is a plain torch.Tensor that raises when its shape is asked. Clears the error
// if x is one.
bool is_nested(PyObject* x);

// Raises what names the class and says what to measure in its place. Returns false.
bool refuse_without_address(PyObject* x);

}  // namespace tensorstat::python
