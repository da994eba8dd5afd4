// Shared by every file of the extension: owned references, the library's errors as exceptions, and calls that release
// the GIL.
//
// The extension uses Python's limited API (CMake defines Py_LIMITED_API), so that one build serves every Python from
// 3.11 on, and it uses the C library. The public interface is the package's Python; only the fast parts are here.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <tensorstat/tensorstat.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tensorstat::python {

// Up to 3.13, CPython ends a daemon thread that wants the GIL while the interpreter exits. It calls pthread_exit, which
// unwinds the stack: `catch (...)` and noexcept then abort the process, and references would be given back without the
// GIL. Such a thread sleeps until the process ends instead, as it does in CPython from 3.14 on.
[[noreturn]] void sleep_for_ever() noexcept;
template <typename Work>
#ifdef __GLIBCXX__
// GCC gives a handler of __forced_unwind a reference to nothing.
__attribute__((no_sanitize("null")))
#endif
decltype(auto)
or_sleep(const Work& work) {
#ifdef __GLIBCXX__
  try {
    return work();
  } catch (abi::__forced_unwind&) {
    sleep_for_ever();
  }
#else
  return work();
#endif
}
inline void take_gil(PyThreadState* state) {
  or_sleep([&] { PyEval_RestoreThread(state); });
}
// False once the interpreter exits: a thread that is ended then does not hold the GIL, and gives nothing back.
inline bool is_running() { return Py_IsInitialized() != 0; }

// One reference to an object, or none. Made, copied and destroyed with the GIL held.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref to(PyObject* borrowed) { return Py_XINCREF(borrowed), Ref(borrowed); }
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept { return std::swap(object_, other.object_), *this; }
  ~Ref() {
    if (object_ != nullptr && is_running()) or_sleep([this] { Py_DECREF(object_); });
  }

  explicit operator bool() const { return object_ != nullptr; }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

// Classes and functions that the package defines in Python. connect() sets them once.
struct Connected {
  PyObject* error = nullptr;       // tensorstat.Error(message, code)
  PyObject* statistics = nullptr;  // tensorstat.Statistics, a class upon Measured
  PyObject* log = nullptr;         // log(is_warning, text)
};
extern Connected connected;

// Each sets an exception and returns nullptr: tensorstat.Error of the library's last failure in this thread, or of
// words.
PyObject* raise(tensorstat_code code);
PyObject* raise(tensorstat_code code, const std::string& words);

// The log of every meter and session: keeps the text, from any thread, until say_all() is called with the GIL.
void keep_words(void* context, int warning, const char* text);
// Passes the kept messages to `connected.log`. A set exception stays set.
void say_all();

// Calls the library with the GIL given up. False, with an exception set, where the library fails.
template <typename Call>
bool call(const Call& library) {
  PyThreadState* const state = PyEval_SaveThread();
  const tensorstat_code code = library();
  take_gil(state);
  if (code != TENSORSTAT_OK) raise(code);
  say_all();
  return code == TENSORSTAT_OK;
}

// Runs `work`, which returns an object or nullptr with an exception set; what C++ throws becomes a MemoryError.
template <typename Work>
PyObject* guarded(const Work& work) noexcept {
  try {
    return or_sleep(work);
  } catch (...) {
    return PyErr_NoMemory();
  }
}

// A whole number among arguments, for the format "O&": anything with __index__. OverflowError where it does not fit.
template <typename Integer>
struct Whole {
  const char* name;  // of the argument, for the words of the exception
  Integer value = 0;
};
bool take_whole(PyObject* x, const char* name, unsigned long long most, unsigned long long& value);
template <typename Integer>
int whole(PyObject* x, void* to) {
  auto& taken = *static_cast<Whole<Integer>*>(to);
  unsigned long long value = 0;
  if (!take_whole(x, taken.name, std::numeric_limits<Integer>::max(), value)) return 0;
  taken.value = static_cast<Integer>(value);
  return 1;
}
constexpr auto* whole32 = whole<std::uint32_t>;
constexpr auto* whole64 = whole<std::uint64_t>;
using Whole32 = Whole<std::uint32_t>;
using Whole64 = Whole<std::uint64_t>;

// Handles of the library are capsules that are named as their type and close them.
template <typename Handle>
struct Kind;
#define TENSORSTAT_HANDLE(handle, close_it)              \
  template <>                                            \
  struct Kind<handle> {                                  \
    static constexpr const char* kName = #handle;        \
    static constexpr void (*kClose)(handle*) = close_it; \
  }
TENSORSTAT_HANDLE(tensorstat_meter, tensorstat_meter_close);
TENSORSTAT_HANDLE(tensorstat_stream, tensorstat_stream_close);
TENSORSTAT_HANDLE(tensorstat_partial, tensorstat_partial_free);
TENSORSTAT_HANDLE(tensorstat_session, tensorstat_session_close);
TENSORSTAT_HANDLE(tensorstat_follower, tensorstat_follower_free);
TENSORSTAT_HANDLE(tensorstat_graph, tensorstat_graph_free);

template <typename Handle>
PyObject* capsule_of(Handle* handle) {
  PyObject* const capsule = PyCapsule_New(handle, Kind<Handle>::kName, [](PyObject* dying) {
    auto* const resource = static_cast<Handle*>(PyCapsule_GetPointer(dying, Kind<Handle>::kName));
    PyThreadState* const state = PyEval_SaveThread();  // a thread that this waits for may want the GIL
    Kind<Handle>::kClose(resource);
    take_gil(state);
    say_all();
  });
  if (capsule == nullptr) Kind<Handle>::kClose(handle);
  return capsule;
}

// The handle in a capsule; nullptr, with an exception set, of anything else.
template <typename Handle>
Handle* handle_of(PyObject* capsule) {
  return static_cast<Handle*>(PyCapsule_GetPointer(capsule, Kind<Handle>::kName));
}

// A capsule that owns an object. It is named T::kName and destroys the object.
template <typename T>
Ref capsule_holding(std::unique_ptr<T> object) {
  Ref capsule(PyCapsule_New(object.get(), T::kName,
                            [](PyObject* dying) { delete static_cast<T*>(PyCapsule_GetPointer(dying, T::kName)); }));
  if (capsule) object.release();
  return capsule;
}

// A method as the table of a module or class has it.
#define TENSORSTAT_METHOD(name, text) \
  { #name, name, METH_VARARGS, PyDoc_STR(text) }

// The functions of each file, which end with an empty entry.
extern PyMethodDef meter_functions[], part_functions[], session_functions[], hand_over_functions[], file_functions[],
    compare_functions[], follow_functions[], collective_functions[];
// Adds the class Measured.
bool add_measured(PyObject* module);

}  // namespace tensorstat::python
