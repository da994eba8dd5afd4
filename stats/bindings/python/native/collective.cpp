// Partials merged over ranks. The reductions are Python's: _ranks.py.
#include <cstring>
#include <span>
#include <vector>

#include "stats/bindings/python/native/measured.hpp"

namespace tensorstat::python {
namespace {

// Python gets a copy of a round's words, because a result made from them may outlive the round.
struct CollectiveOfPython {
  static constexpr const char* kName = "tensorstat_collective";
  std::unique_ptr<tensorstat_collective, decltype(&tensorstat_collective_free)> handle{nullptr,
                                                                                       tensorstat_collective_free};
  std::span<std::int64_t> words{};
  std::size_t count = 0;
};

CollectiveOfPython* collective_of(PyObject* capsule) {
  return static_cast<CollectiveOfPython*>(PyCapsule_GetPointer(capsule, CollectiveOfPython::kName));
}

// open_collective(rank, ranks) -> a collective
PyObject* open_collective(PyObject*, PyObject* arguments) {
  Whole32 rank{"rank"}, ranks{"ranks"};
  if (PyArg_ParseTuple(arguments, "O&O&", whole32, &rank, whole32, &ranks) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    tensorstat_collective* made = nullptr;
    if (const auto code = tensorstat_collective_open(rank.value, ranks.value, &made)) return raise(code);
    auto collective = std::make_unique<CollectiveOfPython>();
    collective->handle.reset(made);
    return capsule_holding(std::move(collective)).release();
  });
}

// collective_begin(collective, partials, label)
PyObject* collective_begin(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *list = nullptr;
  const char* label = nullptr;
  if (PyArg_ParseTuple(arguments, "OOs", &capsule, &list, &label) == 0) return nullptr;
  CollectiveOfPython* const collective = collective_of(capsule);
  if (collective == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<const tensorstat_partial*> partials;
    const Py_ssize_t count = PySequence_Size(list);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Ref each(PySequence_GetItem(list, i));
      const tensorstat_partial* const partial = each ? handle_of<tensorstat_partial>(each.get()) : nullptr;
      if (partial == nullptr) return nullptr;
      partials.push_back(partial);
    }
    if (count < 0) return nullptr;
    collective->count = partials.size();
    const auto code = tensorstat_collective_begin(collective->handle.get(), partials.data(), partials.size(), label);
    return code != TENSORSTAT_OK ? raise(code) : Py_NewRef(Py_None);
  });
}

// collective_begin_failed(collective, message)
PyObject* collective_begin_failed(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  const char* message = nullptr;
  if (PyArg_ParseTuple(arguments, "Os", &capsule, &message) == 0) return nullptr;
  CollectiveOfPython* const collective = collective_of(capsule);
  if (collective == nullptr) return nullptr;
  const auto code = tensorstat_collective_begin_failed(collective->handle.get(), message);
  return code != TENSORSTAT_OK ? raise(code) : Py_NewRef(Py_None);
}

// collective_next(collective) -> (whether by MAX, a bytearray of int64), or None
PyObject* collective_next(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  CollectiveOfPython* const collective = collective_of(capsule);
  if (collective == nullptr) return nullptr;
  std::int64_t* words = nullptr;
  std::size_t count = 0;
  const std::int32_t round = tensorstat_collective_next(collective->handle.get(), &words, &count);
  collective->words = {words, count};
  if (round == TENSORSTAT_ROUNDS_DONE) return Py_NewRef(Py_None);
  Ref bytes(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(words),
                                          static_cast<Py_ssize_t>(collective->words.size_bytes())));
  return bytes ? Py_BuildValue("(ON)", round == TENSORSTAT_ROUND_MAX ? Py_True : Py_False, bytes.release()) : nullptr;
}

// collective_put(collective, words): the words of the last round, reduced
PyObject* collective_put(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *words = nullptr;
  if (PyArg_ParseTuple(arguments, "OY", &capsule, &words) == 0) return nullptr;
  CollectiveOfPython* const collective = collective_of(capsule);
  if (collective == nullptr) return nullptr;
  const std::span<std::int64_t> to = collective->words;
  if (static_cast<std::size_t>(PyByteArray_Size(words)) != to.size_bytes()) {
    return raise(TENSORSTAT_INVALID, "the reduced words are not as many as before");
  }
  std::memcpy(to.data(), PyByteArray_AsString(words), to.size_bytes());
  return Py_NewRef(Py_None);
}

// collective_finish(collective) -> a list of partials
PyObject* collective_finish(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  CollectiveOfPython* const collective = collective_of(capsule);
  if (collective == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<tensorstat_partial*> whole(collective->count + 1);
    if (const auto code = tensorstat_collective_finish(collective->handle.get(), whole.data())) return raise(code);
    Ref list(PyList_New(static_cast<Py_ssize_t>(collective->count)));
    for (std::size_t i = 0; i < collective->count; ++i) {  // each handle is held by a capsule, also after an error
      Ref capsule_of_one(capsule_of(whole[i]));
      if (!list || !capsule_of_one ||
          PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), capsule_of_one.release()) != 0) {
        list = Ref();
      }
    }
    return list.release();
  });
}

}  // namespace

PyMethodDef collective_functions[] = {
    TENSORSTAT_METHOD(open_collective, "open_collective(rank, ranks): a collective"),
    TENSORSTAT_METHOD(collective_begin, "collective_begin(collective, partials, label)"),
    TENSORSTAT_METHOD(collective_begin_failed, "collective_begin_failed(collective, message)"),
    TENSORSTAT_METHOD(collective_next, "collective_next(collective): (whether by MAX, a bytearray of int64), or None"),
    TENSORSTAT_METHOD(collective_put, "collective_put(collective, words): the words of the last round, reduced"),
    TENSORSTAT_METHOD(collective_finish, "collective_finish(collective): a list of partials"),
    {}};

}  // namespace tensorstat::python
