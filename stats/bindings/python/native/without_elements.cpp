#include "stats/bindings/python/native/without_elements.hpp"

#include <string_view>

#include "stats/bindings/python/native/holder.hpp"

namespace tensorstat::python {
namespace {

bool has_own(PyObject* x, const Ref& tensor_class, const char* method) {
  const Ref own = attribute(reinterpret_cast<PyObject*>(Py_TYPE(x)), method),
            all = attribute(tensor_class.get(), method);
  PyErr_Clear();
  return own && own.get() != all.get();
}

// ", x.integers, x.scale": the tensors that __tensor_flatten__ names. "" without it.
std::string shown_parts(PyObject* x) {
  std::string text;
  const Ref parts = result_of(x, "__tensor_flatten__");
  const Ref names(parts ? PySequence_GetItem(parts.get(), 0) : nullptr);
  const Py_ssize_t count = names ? PySequence_Size(names.get()) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref name(PySequence_GetItem(names.get(), i));
    if (name) text += ", x." + text_of(name.get());
  }
  PyErr_Clear();
  return text;
}

// The advice for a tensor that wraps others. Each torch.Tensor has a dequantize(): it is useful only if the class
// defines its own.
std::string way_out(PyObject* x) {
  const Ref torch(PyImport_ImportModule("torch")), tensor_class = torch ? attribute(torch.get(), "Tensor") : Ref();
  if (!tensor_class) return PyErr_Clear(), "the tensors that it holds";
  if (has_own(x, tensor_class, "to_local")) return "this rank's part, x.to_local()";  // a DTensor
  if (has_own(x, tensor_class, "trigger_wait")) return "x.trigger_wait()";            // an AsyncCollectiveTensor
  const char* const first = has_own(x, tensor_class, "dequantize") ? "x.dequantize(), or " : "";
  return first + ("the tensors that it holds" + shown_parts(x));
}

}  // namespace

std::string class_of(PyObject* x) {
  return text_of(attribute(reinterpret_cast<PyObject*>(Py_TYPE(x)), "__name__").get());
}

bool is_nested(PyObject* x) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  const Ref answer = attribute(x, "is_nested");
  PyErr_Clear();
  if (answer.get() == Py_True && text_of(attribute(x, "layout").get()) == "torch.strided") {
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    PyErr_Clear();
    return true;
  }
  PyErr_Restore(type, value, trace);
  return false;
}

bool refuse_without_address(PyObject* x) {
  const std::string name = class_of(x), layout = text_of(attribute(x, "layout").get());
  PyErr_Clear();
  if (name == "FakeTensor" || name == "FunctionalTensor") return refuse("a " + name + " has no values");
  if (layout != "torch.strided") {
    return refuse("a torch.Tensor of layout " + layout + " cannot be read; .to_dense() makes it readable");
  }
  if (name == "Tensor" || name == "Parameter") {
    return refuse(
        "a torch.Tensor inside of a transform, such as torch.func.vmap, has no elements of its own; "
        "measure it outside");
  }
  if (name == "NestedTensor") return refuse("a NestedTensor cannot be read; pass its tensors, x.unbind()");
  const bool has_vowel = !name.empty() && std::string_view("AEIOU").find(name.front()) != std::string_view::npos;
  return refuse((has_vowel ? "an " : "a ") + name + " has no elements of its own; pass " + way_out(x));
}

}  // namespace tensorstat::python
