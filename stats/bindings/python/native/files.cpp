// Files of tensors, and rows of statistics.
#include "stats/bindings/python/native/measured.hpp"
#include "stats/bindings/python/native/rows.hpp"

namespace tensorstat::python {
namespace {

using HeldFile = std::unique_ptr<tensorstat_file, decltype(&tensorstat_file_free)>;

// [(name or None, Statistics), ...]
PyObject* tensors_of(const tensorstat_file* file, const Request& asked) {
  Ref list(PyList_New(0));
  for (std::size_t i = 0; list && i < tensorstat_file_tensor_count(file); ++i) {
    tensorstat_file_tensor tensor = TENSORSTAT_FILE_TENSOR;
    if (const tensorstat_code code = tensorstat_file_tensor_at(file, i, &tensor)) return raise(code);
    const Ref dtype(PyUnicode_FromString(tensor.data_type));
    const Ref shape(shape_of({tensor.shape, tensor.dimension_count}));
    const Ref statistics(dtype && shape ? statistics_of(asked, tensor.values, dtype.get(), shape.get()) : nullptr);
    const Ref name = tensor.name == nullptr ? Ref::to(Py_None) : text_of(tensor.name);
    const Ref named(name && statistics ? Py_BuildValue("(OO)", name.get(), statistics.get()) : nullptr);
    if (!named || PyList_Append(list.get(), named.get()) != 0) return nullptr;
  }
  return list.release();
}

// measure_file(meter, path, request, void_is_bfloat16) -> ([(name or None, Statistics), ...], [fault, ...])
PyObject* measure_file(PyObject*, PyObject* arguments) {
  PyObject *meter = nullptr, *path = nullptr, *capsule = nullptr;
  int void_is_bfloat16 = 0;
  if (PyArg_ParseTuple(arguments, "OO&Op", &meter, PyUnicode_FSConverter, &path, &capsule, &void_is_bfloat16) == 0) {
    return nullptr;
  }
  const Ref held_path(path);
  tensorstat_meter* const handle = handle_of<tensorstat_meter>(meter);
  const Request* const asked = request_of(capsule);
  if (handle == nullptr || asked == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    tensorstat_file* measured = nullptr;
    if (!call([&] {
          return tensorstat_file_measure(handle, PyBytes_AsString(path), &asked->request, void_is_bfloat16, &measured);
        })) {
      return nullptr;
    }
    const HeldFile file(measured, tensorstat_file_free);
    const Ref tensors(tensors_of(file.get(), *asked)), faults(PyList_New(0));
    for (std::size_t i = 0; faults && tensorstat_file_fault(file.get(), i) != nullptr; ++i) {
      const Ref words = text_of(tensorstat_file_fault(file.get(), i));
      if (!words || PyList_Append(faults.get(), words.get()) != 0) return nullptr;
    }
    return tensors && faults ? Py_BuildValue("(OO)", tensors.get(), faults.get()) : nullptr;
  });
}

// read_rows(path) -> ([{name: cell}, ...], tensorstat.Error or None)
PyObject* read_rows(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  if (PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path) == 0) return nullptr;
  const Ref held_path(path);
  TakenRows taken;
  const tensorstat_code code = taken.read([&](tensorstat_each_row each, void* context) {
    return tensorstat_rows_read(PyBytes_AsString(path), each, context, nullptr);
  });
  if (PyErr_Occurred()) return nullptr;
  Ref refused = Ref::to(Py_None);
  if (code != TENSORSTAT_OK) {
    raise(code);
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Ref held_type(type), held_trace(trace);
    refused = Ref(value);
    if (!refused) return nullptr;
  }
  return Py_BuildValue("(OO)", taken.rows.get(), refused.get());
}

}  // namespace

PyMethodDef file_functions[] = {
    TENSORSTAT_METHOD(measure_file, "measure_file(meter, path, request, void_is_bfloat16): (tensors, faults)"),
    TENSORSTAT_METHOD(read_rows, "read_rows(path): ([{name: cell}, ...], the error or None)"),
    {}};

}  // namespace tensorstat::python
