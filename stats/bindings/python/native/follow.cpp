// A dump that is being written.
#include "stats/bindings/python/native/rows.hpp"

namespace tensorstat::python {
namespace {

// follow(path, limits, findings) -> capsule
PyObject* follow(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  tensorstat_findings_options options = TENSORSTAT_FINDINGS_OPTIONS;
  int findings = 0;
  if (PyArg_ParseTuple(arguments, "O&sp", PyUnicode_FSConverter, &path, &options.limits, &findings) == 0)
    return nullptr;
  const Ref held_path(path);
  tensorstat_follower* follower = nullptr;
  const bool is_made = call([&] { return tensorstat_follow(PyBytes_AsString(path), &options, findings, &follower); });
  return is_made ? capsule_of(follower) : nullptr;
}

// follower_look(follower, rows) -> (rows, count of rows, findings or None, faults, seconds to wait)
PyObject* follower_look(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  int wants_rows = 0;
  if (PyArg_ParseTuple(arguments, "Op", &capsule, &wants_rows) == 0) return nullptr;
  tensorstat_follower* const follower = handle_of<tensorstat_follower>(capsule);
  if (follower == nullptr) return nullptr;
  const char* findings = nullptr;
  std::uint64_t count = 0;
  TakenRows taken;
  const tensorstat_code code = taken.read([&](tensorstat_each_row each, void* context) {
    return tensorstat_follower_look(follower, wants_rows != 0 ? each : nullptr, context, &count, &findings);
  });
  if (PyErr_Occurred()) return nullptr;
  if (code != TENSORSTAT_OK) return raise(code);
  const Ref faults(PyList_New(0));
  for (std::size_t i = 0; faults && tensorstat_follower_fault(follower, i) != nullptr; ++i) {
    const Ref words(PyUnicode_DecodeFSDefault(tensorstat_follower_fault(follower, i)));
    if (!words || PyList_Append(faults.get(), words.get()) != 0) return nullptr;
  }
  if (!faults) return nullptr;
  return Py_BuildValue("(OKzOd)", taken.rows.get(), static_cast<unsigned long long>(count), findings, faults.get(),
                       tensorstat_follower_pause(follower) / 1000.0);
}

}  // namespace

PyMethodDef follow_functions[] = {
    TENSORSTAT_METHOD(follow, "follow(path, limits, findings): a follower"),
    TENSORSTAT_METHOD(follower_look, "follower_look(follower, rows): (rows, count, findings or None, faults, pause)"),
    {}};

}  // namespace tensorstat::python
