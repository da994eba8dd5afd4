// Two runs, where NaN began, and what else is wrong.
#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {
namespace {

using HeldAnswer = std::unique_ptr<tensorstat_answer, decltype(&tensorstat_answer_free)>;

// (found, json, [fault, ...], page or None)
template <typename Ask>
PyObject* answer_of(const Ask& ask) {
  return guarded([&]() -> PyObject* {
    tensorstat_answer* given = nullptr;
    if (!call([&] { return ask(&given); })) return nullptr;
    const HeldAnswer answer(given, tensorstat_answer_free);
    const Ref faults(PyList_New(0));
    for (std::size_t i = 0; faults && tensorstat_answer_fault(answer.get(), i) != nullptr; ++i) {
      const Ref words(PyUnicode_DecodeFSDefault(tensorstat_answer_fault(answer.get(), i)));
      if (!words || PyList_Append(faults.get(), words.get()) != 0) return nullptr;
    }
    if (!faults) return nullptr;
    return Py_BuildValue("(NsOz)", PyBool_FromLong(tensorstat_answer_found(answer.get())),
                         tensorstat_answer_json(answer.get()), faults.get(), tensorstat_answer_page(answer.get()));
  });
}

// diff(a, b, rtol, atol, any_dtype, first, tolerances, names) -> (differs, json, faults, None); rtol below 0: the
// dtype's
PyObject* diff(PyObject*, PyObject* arguments) {
  PyObject *a = nullptr, *b = nullptr;
  tensorstat_diff_options options = TENSORSTAT_DIFF_OPTIONS;
  int any_dtype = 0, first = 0;
  if (PyArg_ParseTuple(arguments, "O&O&ddppss", PyUnicode_FSConverter, &a, PyUnicode_FSConverter, &b, &options.rtol,
                       &options.atol, &any_dtype, &first, &options.tolerances, &options.names) == 0) {
    return nullptr;
  }
  const Ref held_a(a), held_b(b);
  options.any_dtype = any_dtype;
  options.first = first;
  return answer_of([&](tensorstat_answer** answer) {
    return tensorstat_diff(PyBytes_AsString(a), PyBytes_AsString(b), &options, answer);
  });
}

// origin(path, nan_only) -> (found, json, faults, None); nan_only as in tensorstat.h
PyObject* origin(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  int nan_only = 0;
  if (PyArg_ParseTuple(arguments, "O&i", PyUnicode_FSConverter, &path, &nan_only) == 0) return nullptr;
  const Ref held_path(path);
  return answer_of(
      [&](tensorstat_answer** answer) { return tensorstat_origin(PyBytes_AsString(path), nan_only, answer); });
}

// findings(path, limits, page) -> (found, json, faults, page or None); limits as in tensorstat.h
PyObject* findings(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  tensorstat_findings_options options = TENSORSTAT_FINDINGS_OPTIONS;
  int page = 0;
  if (PyArg_ParseTuple(arguments, "O&sp", PyUnicode_FSConverter, &path, &options.limits, &page) == 0) return nullptr;
  const Ref held_path(path);
  options.page = page;
  return answer_of(
      [&](tensorstat_answer** answer) { return tensorstat_findings(PyBytes_AsString(path), &options, answer); });
}

}  // namespace

PyMethodDef compare_functions[] = {
    TENSORSTAT_METHOD(diff,
                      "diff(a, b, rtol, atol, any_dtype, first, tolerances, names): (differs, json, faults, None)"),
    TENSORSTAT_METHOD(origin, "origin(path, nan_only): (found, json, faults, None)"),
    TENSORSTAT_METHOD(findings, "findings(path, limits, page): (found, json, faults, page or None)"),
    {}};

}  // namespace tensorstat::python
