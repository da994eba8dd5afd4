// The module tensorstat._native: lists of names, and the functions of the other files.
#include <unistd.h>

#include <atomic>

#include "stats/bindings/python/native/python.hpp"
#include "stats/bindings/python/native/views.hpp"

namespace tensorstat::python {

Connected connected;

namespace {

// Messages of the library that Python has not logged yet, the last first. Lock-free, because the thread that logs may
// not survive a fork.
struct Message {
  Message* before;
  bool is_warning;
  std::string text;
};
std::atomic<Message*> messages{nullptr};

const char* word_of(tensorstat_code code) {
  static constexpr const char* kWords[] = {
      "", "invalid", "unsupported", "unreadable", "unwritable", "over budget", "device", "out of memory", "in use"};
  return code > 0 && code < static_cast<tensorstat_code>(std::size(kWords)) ? kWords[code] : "invalid";
}

PyObject* raise_words(tensorstat_code code, const char* words) {
  const Ref text(
      PyUnicode_DecodeUTF8(words, static_cast<Py_ssize_t>(std::char_traits<char>::length(words)), "replace"));
  const Ref error(text ? PyObject_CallFunction(connected.error, "Os", text.get(), word_of(code)) : nullptr);
  if (error) PyErr_SetObject(connected.error, error.get());
  return nullptr;
}

// connect(error, statistics, log): see Connected. They and other objects here are of one interpreter.
PyObject* connect(PyObject*, PyObject* arguments) {
  static std::int64_t owner = -1;
  const std::int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (owner != -1 && owner != here) {
    PyErr_SetString(PyExc_ImportError,
                    "tensorstat serves one interpreter of a process: the first that imported it, and not this one");
    return nullptr;
  }
  owner = here;
  PyObject *error = nullptr, *statistics = nullptr, *log = nullptr;
  if (PyArg_ParseTuple(arguments, "OOO", &error, &statistics, &log) == 0) return nullptr;
  for (PyObject* each : {error, statistics, log}) Py_INCREF(each);
  connected = {error, statistics, log};
  return Py_NewRef(Py_None);
}

PyObject* statistic_named(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(arguments, "s", &name) == 0) return nullptr;
  const std::int32_t number = tensorstat_statistic_named(name);
  return number < 0 ? Py_NewRef(Py_None) : PyUnicode_InternFromString(tensorstat_statistic_name(number));
}

PyObject* dtype_bytes(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(arguments, "s", &name) == 0) return nullptr;
  return PyLong_FromLong(static_cast<long>(tensorstat_dtype_bytes(tensorstat_dtype_named(name))));
}

PyObject* dtype_elements_a_byte(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  if (PyArg_ParseTuple(arguments, "s", &name) == 0) return nullptr;
  return PyLong_FromLong(static_cast<long>(tensorstat_dtype_elements_a_byte(tensorstat_dtype_named(name))));
}

PyObject* is_freed(PyObject*, PyObject* x) { return PyBool_FromLong(python::is_freed(x) ? 1 : 0); }

// Every name of a list, by its number.
bool add_names(PyObject* module, const char* as, const char* (*name_of)(std::int32_t)) {
  const Ref names(PyList_New(0));
  for (std::int32_t i = 0; names && name_of(i) != nullptr; ++i) {
    const Ref name(PyUnicode_InternFromString(name_of(i)));
    if (!name || PyList_Append(names.get(), name.get()) != 0) return false;
  }
  return names && PyModule_AddObjectRef(module, as, names.get()) == 0;
}

PyMethodDef functions[] = {
    TENSORSTAT_METHOD(connect, "connect(error, statistics, log): what is written in Python"),
    TENSORSTAT_METHOD(statistic_named, "statistic_named(name): the catalog's name of it, or None"),
    TENSORSTAT_METHOD(dtype_bytes, "dtype_bytes(name): of an element, or 0"),
    TENSORSTAT_METHOD(dtype_elements_a_byte, "dtype_elements_a_byte(name): or 0"),
    {"is_freed", is_freed, METH_O, "is_freed(tensor): whether a torch.Tensor's storage ends before it"},
    {}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_native",
                          PyDoc_STR("The C library, for the modules beside this one."),
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

void sleep_for_ever() noexcept {
  for (;;) pause();
}

bool take_whole(PyObject* x, const char* name, unsigned long long most, unsigned long long& value) {
  const Ref index(PyNumber_Index(x));
  if (!index) return false;
  value = PyLong_AsUnsignedLongLong(index.get());
  const bool is_beyond = PyErr_Occurred() != nullptr;
  if (is_beyond && PyErr_ExceptionMatches(PyExc_OverflowError) == 0) return false;
  if (!is_beyond && value <= most) return true;
  PyErr_Format(PyExc_OverflowError, "%s does not fit: it can be 0 to %llu", name, most);
  return false;
}

PyObject* raise(tensorstat_code code) { return raise_words(code, tensorstat_last_error()); }
PyObject* raise(tensorstat_code code, const std::string& words) { return raise_words(code, words.c_str()); }

void keep_words(void*, int warning, const char* text) {
  try {
    auto* const words = new Message{messages.load(), warning != 0, text};
    while (!messages.compare_exchange_weak(words->before, words)) {
    }
  } catch (...) {  // no memory for them
  }
}

void say_all() {
  Message* last = messages.load(std::memory_order_relaxed) == nullptr ? nullptr : messages.exchange(nullptr);
  if (last == nullptr) return;
  Message* first = nullptr;
  while (last != nullptr) {
    Message* const before = std::exchange(last->before, first);
    first = std::exchange(last, before);
  }
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  while (first != nullptr) {
    const std::unique_ptr<Message> words(std::exchange(first, first->before));
    const Ref text(PyUnicode_DecodeUTF8(words->text.data(), static_cast<Py_ssize_t>(words->text.size()), "replace"));
    const Ref done(text && connected.log != nullptr
                       ? PyObject_CallFunction(connected.log, "OO", words->is_warning ? Py_True : Py_False, text.get())
                       : nullptr);
    if (!done) PyErr_WriteUnraisable(connected.log);
  }
  PyErr_Restore(type, value, trace);
}

}  // namespace tensorstat::python

PyMODINIT_FUNC PyInit__native() {
  using namespace tensorstat::python;
  Ref module(PyModule_Create(&definition));
  for (PyMethodDef* each : {meter_functions, part_functions, session_functions, hand_over_functions, file_functions,
                            compare_functions, follow_functions, collective_functions}) {
    if (!module || PyModule_AddFunctions(module.get(), each) != 0) return nullptr;
  }
  const bool whole = add_measured(module.get()) && add_names(module.get(), "DTYPES", tensorstat_dtype_name) &&
                     add_names(module.get(), "STATISTICS", tensorstat_statistic_name) &&
                     PyModule_AddStringConstant(module.get(), "VERSION", tensorstat_version()) == 0;
  return whole ? module.release() : nullptr;
}
