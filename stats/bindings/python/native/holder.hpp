// The kinds of objects that can hold a tensor, and access to their attributes. All of it needs the GIL.
#pragma once

#include <string>

#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {

enum class Holder { kNumpy, kMasked, kTorch, kOpenCl, kDlpack, kBuffer };

// By its type alone: a kBuffer may hold no tensor.
Holder holder_of(PyObject* x);

// An attribute, or the result of a method without arguments. Null, with an exception set, if it is missing or fails.
inline Ref attribute(PyObject* x, PyObject* name) { return Ref(PyObject_GetAttr(x, name)); }
inline Ref attribute(PyObject* x, const char* name) { return Ref(PyObject_GetAttrString(x, name)); }
inline Ref result_of(PyObject* x, PyObject* method) { return Ref(PyObject_CallMethodObjArgs(x, method, nullptr)); }
inline Ref result_of(PyObject* x, const char* method) { return Ref(PyObject_CallMethod(x, method, nullptr)); }

// str(object); "" where that fails.
std::string text_of(PyObject* object);
std::string name_of_type(PyObject* x);

}  // namespace tensorstat::python
