#include "stats/bindings/python/native/measured.hpp"

namespace tensorstat::python {
namespace {

struct Batch {
  static constexpr const char* kName = "tensorstat_result";
  tensorstat_result* result;
  Ref names;
  std::vector<std::int32_t> dtypes;
  Shapes shapes;

  ~Batch() { tensorstat_result_free(result); }
};

// Measured(values, dtype, shape): for a tensor of a batch the three are made at their first use; else they were given.
struct Measured {
  PyObject_HEAD PyObject *batch, *values, *dtype, *shape;
  std::size_t tensor;
};

Measured* seen(PyObject* self) { return reinterpret_cast<Measured*>(self); }

// Numbers, texts and tuples of them make no cycle, so that the collector need not look at thousands of these. A class
// that is written in Python upon this one would have it look.
PyObject* allocated(PyTypeObject* type) {
  PyObject* const self = PyType_GenericAlloc(type, 0);
  if (self != nullptr && PyObject_GC_IsTracked(self) == 1) PyObject_GC_UnTrack(self);
  return self;
}

PyObject* values_of(PyObject* names, const tensorstat_value* values) {
  Ref dict(PyDict_New());
  const Py_ssize_t count = PyTuple_Size(names);
  for (Py_ssize_t i = 0; dict && i < count; ++i) {
    const Ref number(number_of(values[i]));
    if (!number || PyDict_SetItem(dict.get(), PyTuple_GetItem(names, i), number.get()) != 0) return nullptr;
  }
  return dict.release();
}

// make(batch), kept in `member`; None without a batch.
template <typename Make>
PyObject* lazily(PyObject* self, PyObject*& member, const Make& make) {
  if (member == nullptr && seen(self)->batch != nullptr) {
    const auto* const batch = static_cast<const Batch*>(PyCapsule_GetPointer(seen(self)->batch, Batch::kName));
    PyObject* const made = make(*batch, seen(self)->tensor);
    if (made == nullptr) return nullptr;
    if (member == nullptr)
      member = made;
    else
      Py_DECREF(made);  // another thread was faster
  }
  return Py_NewRef(member == nullptr ? Py_None : member);
}

PyObject* get_values(PyObject* self, void*) {
  return lazily(self, seen(self)->values, [](const Batch& batch, std::size_t tensor) {
    return values_of(batch.names.get(), tensorstat_result_values(batch.result, tensor));
  });
}

PyObject* get_dtype(PyObject* self, void*) {
  return lazily(self, seen(self)->dtype, [](const Batch& batch, std::size_t tensor) {
    return PyUnicode_InternFromString(tensorstat_dtype_name(batch.dtypes[tensor]));
  });
}

PyObject* get_shape(PyObject* self, void*) {
  return lazily(self, seen(self)->shape,
                [](const Batch& batch, std::size_t tensor) { return shape_of(batch.shapes[tensor]); });
}

PyObject* made_of(PyTypeObject* type, PyObject* values, PyObject* dtype, PyObject* shape) {
  PyObject* const self = allocated(type);
  if (self == nullptr) return nullptr;
  seen(self)->values = Py_NewRef(values);
  seen(self)->dtype = Py_NewRef(dtype);
  seen(self)->shape = Py_NewRef(shape);
  return self;
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* const names[] = {"values", "dtype", "shape", nullptr};
  PyObject *values = nullptr, *dtype = Py_None, *shape = Py_None;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O!|OO", const_cast<char**>(names), &PyDict_Type, &values,
                                  &dtype, &shape) == 0) {
    return nullptr;
  }
  return made_of(type, values, dtype, shape);
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(seen(self)->batch);
  Py_XDECREF(seen(self)->values);
  Py_XDECREF(seen(self)->dtype);
  Py_XDECREF(seen(self)->shape);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyGetSetDef properties[] = {
    {"_values", get_values, nullptr, PyDoc_STR("{name: value}, in the order of the request"), nullptr},
    {"dtype", get_dtype, nullptr, PyDoc_STR("The tensor's dtype, such as \"float32\"; None where it is not known."),
     nullptr},
    {"shape", get_shape, nullptr, PyDoc_STR("The tensor's shape, a tuple; None where it is not known."), nullptr},
    {}};

PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"tensorstat._native.Measured", sizeof(Measured), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

const Request* request_of(PyObject* capsule) {
  return static_cast<const Request*>(PyCapsule_GetPointer(capsule, Request::kName));
}

Ref batch_of(tensorstat_result* result, const Request& request, std::vector<std::int32_t> dtypes, Shapes shapes) {
  return capsule_holding(
      std::unique_ptr<Batch>(new Batch{result, Ref::to(request.names.get()), std::move(dtypes), std::move(shapes)}));
}

PyObject* statistics_of(PyObject* batch, std::size_t tensor) {
  PyObject* const self = allocated(reinterpret_cast<PyTypeObject*>(connected.statistics));
  if (self == nullptr) return nullptr;
  seen(self)->batch = Py_NewRef(batch);
  seen(self)->tensor = tensor;
  return self;
}

PyObject* statistics_of(const Request& request, const tensorstat_value* values, PyObject* dtype, PyObject* shape) {
  const Ref dict(values_of(request.names.get(), values));
  return dict ? made_of(reinterpret_cast<PyTypeObject*>(connected.statistics), dict.get(), dtype, shape) : nullptr;
}

PyObject* shape_of(std::span<const std::uint64_t> shape) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (std::size_t i = 0; tuple && i < shape.size(); ++i) {
    PyObject* const length = PyLong_FromUnsignedLongLong(shape[i]);
    if (length == nullptr || PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), length) != 0) return nullptr;
  }
  return tuple.release();
}

namespace {

// {"zero": n, "subnormal": n, "binades": {exponent: n, ...}, "inf": n, "nan": n}
PyObject* exponents_of(const tensorstat_value& value) {
  Ref binades(PyDict_New()), all(PyDict_New());
  const std::size_t count = tensorstat_exponents_binade_count(&value);
  for (std::size_t i = 0; binades && i < count; ++i) {
    std::int32_t exponent = 0;
    const Ref number(PyLong_FromUnsignedLongLong(tensorstat_exponents_binade(&value, i, &exponent)));
    const Ref key(PyLong_FromLong(exponent));
    if (!number || !key || PyDict_SetItem(binades.get(), key.get(), number.get()) != 0) return nullptr;
  }
  const auto add = [&](const char* name, std::int32_t which) {
    const Ref number(PyLong_FromUnsignedLongLong(tensorstat_exponents_count(&value, which)));
    return number && PyDict_SetItemString(all.get(), name, number.get()) == 0;
  };
  if (!binades || !all || !add("zero", TENSORSTAT_ZERO) || !add("subnormal", TENSORSTAT_SUBNORMAL)) return nullptr;
  if (PyDict_SetItemString(all.get(), "binades", binades.get()) != 0) return nullptr;
  return add("inf", TENSORSTAT_INF) && add("nan", TENSORSTAT_NAN) ? all.release() : nullptr;
}

}  // namespace

PyObject* number_of(const tensorstat_value& value) {
  switch (value.kind) {
    case TENSORSTAT_UNSIGNED:
      return PyLong_FromUnsignedLongLong(value.is.whole);
    case TENSORSTAT_SIGNED:
      return PyLong_FromLongLong(value.is.whole_signed);
    case TENSORSTAT_REAL:
      return PyFloat_FromDouble(value.is.real);
    case TENSORSTAT_DIGEST: {
      char digits[64];
      tensorstat_value_text(&value, digits, sizeof digits);
      return PyUnicode_FromString(digits);
    }
    case TENSORSTAT_EXPONENTS:
      return exponents_of(value);
    default:
      return Py_NewRef(Py_None);
  }
}

bool add_measured(PyObject* module) {
  const Ref type(PyType_FromSpec(&spec));
  return type && PyModule_AddObjectRef(module, "Measured", type.get()) == 0;
}

}  // namespace tensorstat::python
