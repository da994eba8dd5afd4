// Files of tensors, and rows of statistics.
#include "stats/python/native/measured.hpp"

namespace tensorstat::python {
namespace {

using HeldFile = std::unique_ptr<tensorstat_file, decltype(&tensorstat_file_free)>;

// What a file says need not be UTF-8.
Ref text_of(const char* text) {
  return Ref(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace"));
}
Ref whole_of(std::uint64_t number) { return Ref(PyLong_FromUnsignedLongLong(number)); }

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

// {"op type": "Conv2D", ..., "max": 1.5, ...}
Ref dict_of(const tensorstat_row& row) {
  Ref dict(PyDict_New());
  bool is_whole = static_cast<bool>(dict);
  const auto add = [&](const char* name, const Ref& value) {
    is_whole = is_whole && value && PyDict_SetItemString(dict.get(), name, value.get()) == 0;
  };
  add("op type", text_of(row.op_type));
  add("op name", text_of(row.op_name));
  add("task id", whole_of(row.task_id));
  add("stream id", whole_of(row.stream_id));
  add("timestamp", whole_of(row.timestamp_us));
  add("io", text_of(row.io));
  add("slot", whole_of(row.slot));
  add("data size", whole_of(row.data_size_bytes));
  add("data type", text_of(row.data_type));
  add("shape", Ref(shape_of({row.shape, row.dimension_count})));
  for (std::uint32_t i = 0; i < row.value_count; ++i) {
    add(tensorstat_statistic_name(row.statistics[i]), Ref(number_of(row.values[i])));
  }
  for (std::uint32_t i = 0; i < row.cell_count; ++i) {
    add(row.cells[i].name, row.cells[i].text != nullptr ? text_of(row.cells[i].text) : whole_of(row.cells[i].whole));
  }
  return is_whole ? std::move(dict) : Ref();
}

// read_rows(path) -> ([{name: cell}, ...], tensorstat.Error or None)
PyObject* read_rows(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  if (PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path) == 0) return nullptr;
  const Ref held_path(path);
  // The GIL is had for each row, which is as long as making its objects takes.
  struct Reading {
    Ref rows;
    PyThreadState* state = nullptr;
  } reading{Ref(PyList_New(0))};
  if (!reading.rows) return nullptr;
  const auto take = [](void* context, const tensorstat_row* row) -> int {
    auto& to = *static_cast<Reading*>(context);
    take_gil(to.state);
    bool is_taken = false;
    {
      const Ref dict = dict_of(*row);
      is_taken = dict && PyList_Append(to.rows.get(), dict.get()) == 0;
    }
    to.state = PyEval_SaveThread();
    return is_taken ? 0 : 1;
  };
  reading.state = PyEval_SaveThread();
  const tensorstat_code code = tensorstat_rows_read(PyBytes_AsString(path), take, &reading, nullptr);
  take_gil(reading.state);
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
  return Py_BuildValue("(OO)", reading.rows.get(), refused.get());
}

}  // namespace

PyMethodDef file_functions[] = {
    TENSORSTAT_METHOD(measure_file, "measure_file(meter, path, request, void_is_bfloat16): (tensors, faults)"),
    TENSORSTAT_METHOD(read_rows, "read_rows(path): ([{name: cell}, ...], the error or None)"),
    {}};

}  // namespace tensorstat::python
