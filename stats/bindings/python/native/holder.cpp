#include "stats/bindings/python/native/holder.hpp"

#include <iterator>
#include <utility>

namespace tensorstat::python {
namespace {

PyObject* type_of(PyObject* x) { return reinterpret_cast<PyObject*>(Py_TYPE(x)); }

bool has(PyObject* type, const char* attribute) { return PyObject_HasAttrString(type, attribute) == 1; }

bool is_numpys(PyObject* type) {
  const Ref modules = Ref::to(PyImport_GetModuleDict()), name(PyUnicode_FromString("numpy"));
  PyObject* const numpy = name ? PyDict_GetItemWithError(modules.get(), name.get()) : nullptr;
  const Ref array(numpy == nullptr ? nullptr : PyObject_GetAttrString(numpy, "ndarray"));
  PyErr_Clear();
  return array && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), reinterpret_cast<PyTypeObject*>(array.get()));
}

Holder holder_of_type(PyObject* type) {
  if (is_numpys(type)) return has(type, "mask") && has(type, "compressed") ? Holder::kMasked : Holder::kNumpy;
  if (has(type, "data_ptr") && has(type, "is_contiguous")) return Holder::kTorch;
  if (has(type, "map_to_host") && has(type, "add_event")) return Holder::kOpenCl;
  return has(type, "__dlpack__") ? Holder::kDlpack : Holder::kBuffer;
}

}  // namespace

// Most tensors have a type of the last ones; the GIL guards the cache. Releasing an old type may run Python, which may
// call this again: so the cache is set before, and not read after it.
Holder holder_of(PyObject* x) {
  struct Known {
    PyObject* type = nullptr;
    Holder holder = Holder::kBuffer;
  };
  static Known known[4];
  static unsigned next = 0;
  PyObject* const type = type_of(x);
  for (const Known& each : known) {
    if (each.type == type) return each.holder;
  }
  const Holder holder = holder_of_type(type);
  Known& place = known[next++ % std::size(known)];
  place.holder = holder;
  Py_INCREF(type);
  const Ref before(std::exchange(place.type, type));
  return holder;
}

std::string text_of(PyObject* object) {
  const Ref text(object == nullptr ? nullptr : PyObject_Str(object));
  const char* const utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), nullptr) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 == nullptr ? "" : utf8;
}

std::string name_of_type(PyObject* x) { return text_of(attribute(type_of(x), "__name__").get()); }

}  // namespace tensorstat::python
