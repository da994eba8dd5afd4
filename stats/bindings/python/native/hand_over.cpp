// Passes operators, their tensors, their arguments and their order to a dump session.
#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stats/bindings/python/native/holder.hpp"
#include "stats/bindings/python/native/views.hpp"

namespace tensorstat::python {
namespace {

constexpr const char* kOperator = "tensorstat_operator";

// Of the last tensor whose faults settle() tells.
std::atomic<std::uint64_t> last_number{0};

// operator_named(session, type, name, set_dump = False, stream_id = TENSORSTAT_NO_ID, task_id = TENSORSTAT_NO_ID)
// -> an operator, good as long as the session; None where the session wants nothing
PyObject* operator_named(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  const char *type = nullptr, *name = nullptr;
  int set_dump = 0;
  Whole64 stream_id{"stream_id", TENSORSTAT_NO_ID}, task_id{"task_id", TENSORSTAT_NO_ID};
  if (PyArg_ParseTuple(arguments, "Oss|pO&O&", &capsule, &type, &name, &set_dump, whole64, &stream_id, whole64,
                       &task_id) == 0) {
    return nullptr;
  }
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  const tensorstat_operator* const made =
      tensorstat_operator_named(session, type, name, set_dump, stream_id.value, task_id.value);
  return made == nullptr ? Py_NewRef(Py_None)
                         : PyCapsule_New(const_cast<tensorstat_operator*>(made), kOperator, nullptr);
}

// The texts of a list; they live as long as `references`. False, with an exception set, of anything else.
bool take_texts(PyObject* list, std::vector<Ref>& references, std::vector<const char*>& texts) {
  const Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    references.emplace_back(PySequence_GetItem(list, i));
    const char* const text = references.back() ? PyUnicode_AsUTF8AndSize(references.back().get(), nullptr) : nullptr;
    if (text == nullptr) return false;
    texts.push_back(text);
  }
  return count >= 0;
}

// describe(session, operator, frames, parent)
PyObject* describe(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *op_capsule = nullptr, *frames = nullptr;
  const char* parent = nullptr;
  if (PyArg_ParseTuple(arguments, "OOOs", &capsule, &op_capsule, &frames, &parent) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  if (op_capsule == Py_None) return Py_NewRef(Py_None);
  const auto* const op = static_cast<const tensorstat_operator*>(PyCapsule_GetPointer(op_capsule, kOperator));
  if (op == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Ref> references;
    std::vector<const char*> texts;
    if (!take_texts(frames, references, texts)) return nullptr;
    const bool done = call([&] { return tensorstat_describe(session, op, texts.data(), texts.size(), parent); });
    return done ? Py_NewRef(Py_None) : nullptr;
  });
}

// (session, operator, rank, device, graph, iteration, ...): where something happens.
struct Run {
  PyObject *capsule = nullptr, *op_capsule = nullptr;
  tensorstat_place place = TENSORSTAT_PLACE;
  tensorstat_session* session = nullptr;
  const tensorstat_operator* op = nullptr;

  // For arguments that begin with these; `format` describes the `others` behind.
  template <typename... Others>
  bool take(PyObject* arguments, const char* format, Others*... others) {
    Whole32 rank{"rank"}, device{"device"}, graph{"graph"};
    Whole64 iteration{"iteration"};
    if (PyArg_ParseTuple(arguments, (std::string("OOO&O&O&O&") + format).c_str(), &capsule, &op_capsule, whole32, &rank,
                         whole32, &device, whole32, &graph, whole64, &iteration, others...) == 0) {
      return false;
    }
    place.rank = rank.value;
    place.device = device.value;
    place.graph = graph.value;
    place.iteration = iteration.value;
    session = handle_of<tensorstat_session>(capsule);
    if (session == nullptr) return false;
    if (op_capsule == Py_None) return true;
    op = static_cast<const tensorstat_operator*>(PyCapsule_GetPointer(op_capsule, kOperator));
    return op != nullptr;
  }
};

PyObject* wants(PyObject*, PyObject* arguments) {
  Run run;
  int failed = 0;
  if (!run.take(arguments, "|p", &failed)) return nullptr;
  return PyBool_FromLong(tensorstat_wants(run.session, &run.place, run.op, failed));
}

// Whether `x`, as PyTorch's tensors do, says that it requires a gradient. If it is looked into by DLPack, it is then
// exchanged for one that shares its elements and does not, because __dlpack__ refuses others.
bool take_gradient(Ref& x) {
  static PyObject* const name = PyUnicode_InternFromString("requires_grad");
  const Ref flag = attribute(x.get(), name);
  const bool requires_grad = flag && PyObject_IsTrue(flag.get()) == 1;
  PyErr_Clear();  // nothing is said
  if (requires_grad && holder_of(x.get()) == Holder::kDlpack) x = result_of(x.get(), "detach");
  return requires_grad;
}

bool add_all(PyObject* list, int io, Views& views, std::vector<tensorstat_dump_tensor>& handed) {
  const Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t slot = 0; slot < count; ++slot) {
    Ref x(PySequence_GetItem(list, slot));
    if (!x) return false;
    if (x.get() == Py_None) continue;
    const bool requires_grad = take_gradient(x);
    if (!x || !views.add(x.get())) return false;
    tensorstat_dump_tensor tensor = TENSORSTAT_DUMP_TENSOR;
    tensor.io = io;
    tensor.slot = static_cast<std::uint32_t>(slot);
    tensor.requires_grad = requires_grad;
    handed.push_back(tensor);
  }
  return count >= 0;
}

// (kinds, first, whether an alert names one of the tensors), or None if there is nothing to say. kinds:
// TENSORSTAT_HAS_NAN and TENSORSTAT_HAS_INF of all tensors together. first: the number of the first faulty one among
// all that were handed over, without None.
PyObject* faults_of(const std::vector<std::uint32_t>& faults) {
  constexpr std::uint32_t kAny = TENSORSTAT_HAS_NAN | TENSORSTAT_HAS_INF;
  std::size_t first = faults.size();
  std::uint32_t all = 0;
  bool has_alert = false;
  for (std::size_t i = faults.size(); i-- != 0;) {
    all |= faults[i] & kAny;
    has_alert |= (faults[i] & TENSORSTAT_IS_OF_ALERT) != 0;
    if ((faults[i] & kAny) != 0) first = i;
  }
  if (all == 0 && !has_alert) return Py_NewRef(Py_None);
  return Py_BuildValue("(InO)", all, static_cast<Py_ssize_t>(all == 0 ? 0 : first), has_alert ? Py_True : Py_False);
}

// The numbers of the tensors, in a list: settle() tells their faults.
PyObject* numbers_of(const std::vector<tensorstat_dump_tensor>& handed) {
  Ref numbers(PyList_New(static_cast<Py_ssize_t>(handed.size())));
  for (std::size_t i = 0; numbers && i < handed.size(); ++i) {
    Ref number(PyLong_FromUnsignedLongLong(handed[i].number));
    if (!number || PyList_SetItem(numbers.get(), static_cast<Py_ssize_t>(i), number.release()) != 0) return nullptr;
  }
  return numbers.release();
}

// Whether any of the tensors lies on a GPU and is not measured yet.
bool are_late(const std::vector<tensorstat_dump_tensor>& handed) {
  return std::ranges::any_of(handed, [](const tensorstat_dump_tensor& each) {
    return each.number != 0 && (*each.faults & TENSORSTAT_MEASURED) == 0;
  });
}

// Puts what `list` says of replicas into the outputs, which stand behind `input_count` inputs: texts and None.
bool take_differences(PyObject* list, std::vector<Ref>& references, std::vector<tensorstat_dump_tensor>& handed,
                      std::size_t input_count) {
  for (std::size_t i = input_count; i < handed.size(); ++i) {
    references.emplace_back(PySequence_GetItem(list, static_cast<Py_ssize_t>(handed[i].slot)));
    if (!references.back()) return false;
    if (references.back().get() == Py_None) continue;
    handed[i].differs_over = PyUnicode_AsUTF8AndSize(references.back().get(), nullptr);
    if (handed[i].differs_over == nullptr) return false;
  }
  return true;
}

PyObject* collect(PyObject*, PyObject* arguments) {
  Run run;
  PyObject *inputs = nullptr, *outputs = nullptr;
  const char* layout = nullptr;
  PyObject* differences = Py_None;
  int failed = 0, constants = 0, is_for_event = 0, may_be_late = 0;
  if (!run.take(arguments, "OOs|pppOp", &inputs, &outputs, &layout, &failed, &constants, &is_for_event, &differences,
                &may_be_late)) {
    return nullptr;
  }
  run.place.constants = constants;
  if (!tensorstat_wants(run.session, &run.place, run.op, failed)) return Py_NewRef(Py_None);
  return guarded([&]() -> PyObject* {
    Views views;
    std::vector<tensorstat_dump_tensor> handed;
    if (!add_all(inputs, TENSORSTAT_INPUT, views, handed)) return nullptr;
    const std::size_t input_count = handed.size();
    if (!add_all(outputs, TENSORSTAT_OUTPUT, views, handed)) return nullptr;
    std::vector<Ref> texts;
    if (differences != Py_None && !take_differences(differences, texts, handed, input_count)) return nullptr;
    std::vector<std::uint32_t> faults(handed.size(), 0);
    const bool is_numbered =
        may_be_late != 0 && std::ranges::any_of(views.tensors(), [](const tensorstat_tensor& each) {
          return each.where == TENSORSTAT_CUDA || each.where == TENSORSTAT_ROCM;
        });
    for (std::size_t i = 0; i < handed.size(); ++i) {
      const auto shape = views.shape(i);
      handed[i].faults = &faults[i];
      if (is_numbered) handed[i].number = ++last_number;
      handed[i].is_for_event = is_for_event;
      handed[i].tensor = &views.tensors()[i];
      handed[i].shape = shape.data();
      handed[i].dimension_count = static_cast<std::uint32_t>(shape.size());
    }
    const bool done = call([&] {
      return tensorstat_collect_call(run.session, &run.place, run.op, handed.data(), handed.size(), failed, layout);
    });
    if (!done) return nullptr;
    return is_numbered && are_late(handed) ? numbers_of(handed) : faults_of(faults);
  });
}

// why_not(x) -> the reason why x cannot be measured; None if it can
PyObject* why_not(PyObject*, PyObject* arguments) {
  PyObject* given = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &given) == 0) return nullptr;
  return guarded([&]() -> PyObject* {
    Ref x = Ref::to(given);
    take_gradient(x);
    Views views;
    if (x && views.add(x.get())) return Py_NewRef(Py_None);
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const Ref held_type(type), held_value(value), held_trace(trace);
    return PyObject_Str(value);
  });
}

// save_kernel_args(session, operator, rank, device, graph, iteration, names, values)
PyObject* save_kernel_args(PyObject*, PyObject* arguments) {
  Run run;
  PyObject *name_list = nullptr, *value_list = nullptr;
  if (!run.take(arguments, "OO", &name_list, &value_list)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Ref> references;
    std::vector<const char*> names, values;
    if (!take_texts(name_list, references, names) || !take_texts(value_list, references, values)) return nullptr;
    values.resize(names.size(), "");
    const bool done = call([&] {
      return tensorstat_save_kernel_args(run.session, &run.place, run.op, names.data(), values.data(), names.size());
    });
    return done ? Py_NewRef(Py_None) : nullptr;
  });
}

// save_execution_order(session, rank, graph, names)
PyObject* save_execution_order(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *name_list = nullptr;
  Whole32 rank{"rank"}, graph{"graph"};
  if (PyArg_ParseTuple(arguments, "OO&O&O", &capsule, whole32, &rank, whole32, &graph, &name_list) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    std::vector<Ref> references;
    std::vector<const char*> names;
    if (!take_texts(name_list, references, names)) return nullptr;
    const bool done = call(
        [&] { return tensorstat_save_execution_order(session, rank.value, graph.value, names.data(), names.size()); });
    return done ? Py_NewRef(Py_None) : nullptr;
  });
}

// Whether all that was handed over is in its file.
PyObject* step_end(PyObject*, PyObject* arguments) {
  Run run;
  if (!run.take(arguments, "")) return nullptr;
  int whole = 1;
  call([&] { return whole = tensorstat_step_end(run.session, &run.place), TENSORSTAT_OK; });
  return PyBool_FromLong(whole);
}

// begin_capture(session) -> (a graph, or None if it will have no rows; the last number before it)
PyObject* begin_capture(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  const unsigned long long before = last_number;
  tensorstat_graph* graph = nullptr;
  if (!call([&] { return tensorstat_begin_capture(session, &graph); })) return nullptr;
  const Ref made(graph == nullptr ? Py_NewRef(Py_None) : capsule_of(graph));
  return made ? Py_BuildValue("(OK)", made.get(), before) : nullptr;
}

// end_capture(session) -> the last number in the graph, or one behind it
PyObject* end_capture(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  tensorstat_end_capture(session);
  return PyLong_FromUnsignedLongLong(last_number);
}

// replayed(session, graph, iteration, stream, before, last) -> what is added to the numbers in the graph, which are
// above `before` and at most `last`; None if the rows are lost
PyObject* replayed(PyObject*, PyObject* arguments) {
  PyObject *capsule = nullptr, *graph_capsule = nullptr;
  Whole64 iteration{"iteration"}, stream{"stream"}, before{"before"}, last{"last"};
  if (PyArg_ParseTuple(arguments, "OOO&O&O&O&", &capsule, &graph_capsule, whole64, &iteration, whole64, &stream,
                       whole64, &before, whole64, &last) == 0) {
    return nullptr;
  }
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  tensorstat_graph* const graph = session == nullptr ? nullptr : handle_of<tensorstat_graph>(graph_capsule);
  if (graph == nullptr) return nullptr;
  const std::uint64_t added = last_number.fetch_add(last.value - before.value) - before.value;
  int is_there = 0;
  call([&] {
    is_there = tensorstat_replayed(session, graph, iteration.value,
                                   reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream.value)), added);
    return TENSORSTAT_OK;
  });
  return is_there != 0 ? PyLong_FromUnsignedLongLong(added) : Py_NewRef(Py_None);
}

// settle(session, with_this_step) -> {number: the kinds of fault of its tensor}
PyObject* settle(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  int with_this_step = 0;
  if (PyArg_ParseTuple(arguments, "Op", &capsule, &with_this_step) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  return guarded([&]() -> PyObject* {
    using TensorFaults = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
    TensorFaults told;
    const auto keep = [](std::uint64_t number, std::uint32_t faults, void* to) {
      try {
        static_cast<TensorFaults*>(to)->emplace_back(number, faults);
      } catch (const std::bad_alloc&) {  // nothing is known of it
      }
    };
    call([&] { return tensorstat_settle(session, with_this_step, keep, &told), TENSORSTAT_OK; });
    Ref dict(PyDict_New());
    for (const auto& [number, faults] : told) {
      const Ref key(PyLong_FromUnsignedLongLong(number)),
          kinds(PyLong_FromLong(static_cast<long>(faults & (TENSORSTAT_HAS_NAN | TENSORSTAT_HAS_INF))));
      if (!dict || !key || !kinds || PyDict_SetItem(dict.get(), key.get(), kinds.get()) != 0) return nullptr;
    }
    return dict.release();
  });
}

}  // namespace

PyMethodDef hand_over_functions[] = {
    TENSORSTAT_METHOD(operator_named,
                      "operator_named(session, type, name, set_dump, stream_id, task_id): an operator, or None"),
    TENSORSTAT_METHOD(describe, "describe(session, operator, frames, parent)"),
    TENSORSTAT_METHOD(wants, "wants(session, operator, rank, device, graph, iteration, failed)"),
    TENSORSTAT_METHOD(collect,
                      "collect(session, operator, rank, device, graph, iteration, inputs, outputs, layout, failed, "
                      "constants, is_for_event, differs_over, may_be_late): None, (kinds of fault, the first faulty "
                      "tensor, whether an alert names one), or a list of numbers for settle()"),
    TENSORSTAT_METHOD(why_not, "why_not(x): why it is no tensor that can be measured, or None"),
    TENSORSTAT_METHOD(save_kernel_args,
                      "save_kernel_args(session, operator, rank, device, graph, iteration, names, values)"),
    TENSORSTAT_METHOD(save_execution_order, "save_execution_order(session, rank, graph, names)"),
    TENSORSTAT_METHOD(step_end, "step_end(session, None, rank, device, graph, iteration)"),
    TENSORSTAT_METHOD(begin_capture, "begin_capture(session): (a graph or None, the last number before it)"),
    TENSORSTAT_METHOD(end_capture, "end_capture(session): the last number in the graph"),
    TENSORSTAT_METHOD(replayed, "replayed(session, graph, iteration, stream, before, last): what numbers grow by"),
    TENSORSTAT_METHOD(settle, "settle(session, with_this_step): {number: kinds of fault}"),
    {}};

}  // namespace tensorstat::python
