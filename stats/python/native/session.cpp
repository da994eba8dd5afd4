// Dump sessions.
#include "stats/python/native/views.hpp"

namespace tensorstat::python {
namespace {

constexpr const char* kOperator = "tensorstat_operator";

// open_session(kind, config, dialect, layout, sync, memory_bytes, path, device_target, framework_version, framework,
// world_size, device_rows, budget_bytes, threads) -> a session. `kind` of the config: 0 the environment's, 1 a path, 2
// a text.
PyObject* open_session(PyObject*, PyObject* arguments) {
  int kind = 0;
  const char* config = nullptr;
  Whole64 memory{"memory_bytes"}, budget{"budget_bytes"};
  Whole32 world_size{"world_size"}, threads{"threads"};
  tensorstat_meter_options meter = TENSORSTAT_METER_OPTIONS;
  tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
  if (PyArg_ParseTuple(arguments, "iziiiO&zsssO&pO&O&", &kind, &config, &options.dialect, &options.layout,
                       &options.sync, whole64, &memory, &options.path, &options.device_target,
                       &options.framework_version, &options.framework, whole32, &world_size, &options.device_rows,
                       whole64, &budget, whole32, &threads) == 0) {
    return nullptr;
  }
  options.memory_bytes = memory.value;
  options.world_size = world_size.value;
  meter.budget_bytes = budget.value;
  meter.thread_count = threads.value;
  meter.log = keep_words;
  options.meter = &meter;
  tensorstat_session* session = nullptr;
  const bool done = call([&] {
    if (kind == 0) return tensorstat_session_from_environment(&options, &session);
    if (kind == 1) return tensorstat_session_from_file(config, &options, &session);
    return tensorstat_session_from_json(config, &options, &session);
  });
  return done ? capsule_of(session) : nullptr;
}

PyObject* session_enabled(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  return session == nullptr ? nullptr : PyBool_FromLong(tensorstat_session_enabled(session));
}

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

// The texts of a list; they live as long as `held`. False, with an exception set, of anything else.
bool take_texts(PyObject* list, std::vector<Ref>& held, std::vector<const char*>& texts) {
  const Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    held.emplace_back(PySequence_GetItem(list, i));
    const char* const text = held.back() ? PyUnicode_AsUTF8AndSize(held.back().get(), nullptr) : nullptr;
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
    std::vector<Ref> held;
    std::vector<const char*> texts;
    if (!take_texts(frames, held, texts)) return nullptr;
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

  // Of arguments that begin with these; `format` describes the `others` behind.
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

// Whether `x`, as PyTorch's tensors do, says that it requires a gradient. It is then exchanged for one that shares its
// elements and does not: no other can be looked into.
bool take_gradient(Ref& x) {
  const Ref said(PyObject_GetAttrString(x.get(), "requires_grad"));
  const bool requires_grad = said && PyObject_IsTrue(said.get()) == 1;
  PyErr_Clear();  // nothing is said
  if (requires_grad) x = Ref(PyObject_CallMethod(x.get(), "detach", nullptr));
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

// What of the tensors is known to be faulty: 0 where nothing is; else 4 * (the number of the first faulty one among
// those that were handed over, None left out) + TENSORSTAT_HAS_NAN and TENSORSTAT_HAS_INF of all of them together.
PyObject* faults_of(const std::vector<std::uint32_t>& faults) {
  constexpr std::uint32_t kAny = TENSORSTAT_HAS_NAN | TENSORSTAT_HAS_INF;
  std::size_t first = faults.size();
  std::uint32_t all = 0;
  for (std::size_t i = faults.size(); i-- != 0;) {
    all |= faults[i] & kAny;
    if ((faults[i] & kAny) != 0) first = i;
  }
  return PyLong_FromSize_t(all == 0 ? 0 : 4 * first + all);
}

PyObject* collect(PyObject*, PyObject* arguments) {
  Run run;
  PyObject *inputs = nullptr, *outputs = nullptr;
  const char* layout = nullptr;
  int failed = 0, constants = 0;
  if (!run.take(arguments, "OOs|pp", &inputs, &outputs, &layout, &failed, &constants)) return nullptr;
  run.place.constants = constants;
  if (!tensorstat_wants(run.session, &run.place, run.op, failed)) return PyLong_FromLong(0);
  return guarded([&]() -> PyObject* {
    Views views;
    std::vector<tensorstat_dump_tensor> handed;
    if (!add_all(inputs, TENSORSTAT_INPUT, views, handed) || !add_all(outputs, TENSORSTAT_OUTPUT, views, handed)) {
      return nullptr;
    }
    std::vector<std::uint32_t> faults(handed.size(), 0);
    for (std::size_t i = 0; i < handed.size(); ++i) {
      const auto shape = views.shape(i);
      handed[i].faults = &faults[i];
      handed[i].tensor = &views.tensors()[i];
      handed[i].shape = shape.data();
      handed[i].dimension_count = static_cast<std::uint32_t>(shape.size());
    }
    const bool done = call([&] {
      return tensorstat_collect_call(run.session, &run.place, run.op, handed.data(), handed.size(), failed, layout);
    });
    return done ? faults_of(faults) : nullptr;
  });
}

// why_not(x) -> why it is no tensor that can be measured; None where it is one
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
    std::vector<Ref> held;
    std::vector<const char*> names, values;
    if (!take_texts(name_list, held, names) || !take_texts(value_list, held, values)) return nullptr;
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
    std::vector<Ref> held;
    std::vector<const char*> names;
    if (!take_texts(name_list, held, names)) return nullptr;
    const bool done = call(
        [&] { return tensorstat_save_execution_order(session, rank.value, graph.value, names.data(), names.size()); });
    return done ? Py_NewRef(Py_None) : nullptr;
  });
}

// name_graph(session, graph, model)
PyObject* name_graph(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  const char* model = nullptr;
  Whole32 graph{"graph"};
  if (PyArg_ParseTuple(arguments, "OO&s", &capsule, whole32, &graph, &model) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  const bool done = call([&] { return tensorstat_name_graph(session, graph.value, model); });
  return done ? Py_NewRef(Py_None) : nullptr;
}

// session_demands(session) -> (whether it has to be said which operators failed, whether arguments of kernels are
// wanted)
PyObject* session_demands(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  tensorstat_demands demands{};
  demands.size = sizeof demands;
  if (const tensorstat_code code = tensorstat_session_demands(session, &demands)) return raise(code);
  const Ref operators(PyBool_FromLong(demands.synchronised_operators)),
      kernel_args(PyBool_FromLong(demands.kernel_args));
  return Py_BuildValue("(OO)", operators.get(), kernel_args.get());
}

// Whether all that was handed over is in its file.
PyObject* step_end(PyObject*, PyObject* arguments) {
  Run run;
  if (!run.take(arguments, "")) return nullptr;
  int whole = 1;
  call([&] { return whole = tensorstat_step_end(run.session, &run.place), TENSORSTAT_OK; });
  return PyBool_FromLong(whole);
}

PyObject* session_flush(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  int whole = 1;
  call([&] { return whole = tensorstat_session_flush(session), TENSORSTAT_OK; });
  return PyBool_FromLong(whole);
}

// Whether all that was handed over is in its file; the counters are final then.
PyObject* session_end(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  int whole = 1;
  call([&] { return whole = tensorstat_session_end(session), TENSORSTAT_OK; });
  return PyBool_FromLong(whole);
}

PyObject* session_start(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  tensorstat_session_start(session);
  return Py_NewRef(Py_None);
}

PyObject* session_stop(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  int whole = 1;
  call([&] { return whole = tensorstat_session_stop(session), TENSORSTAT_OK; });
  return PyBool_FromLong(whole);
}

// The alerts of the calls of this thread, as JSON. A callback without the interpreter's lock can keep nothing else.
thread_local std::vector<std::string> alerts_here;

void keep_alert(const char* alert, void*) {
  try {
    alerts_here.emplace_back(alert);
  } catch (const std::bad_alloc&) {  // it stands in alerts.ndjson
  }
}

// set_alerts(session, rules, keep_steps, steps_after, keep_bytes, most_events)
PyObject* set_alerts(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  tensorstat_alert_options options = TENSORSTAT_ALERT_OPTIONS;
  Whole32 keep{"keep"}, after{"keep"}, most{"most_events"};
  Whole64 bytes{"keep_bytes"};
  if (PyArg_ParseTuple(arguments, "OsO&O&O&O&", &capsule, &options.rules, whole32, &keep, whole32, &after, whole64,
                       &bytes, whole32, &most) == 0) {
    return nullptr;
  }
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  options.keep_steps = keep.value;
  options.steps_after = after.value;
  options.keep_bytes = bytes.value;
  options.most_events = most.value;
  options.on_alert = keep_alert;
  const bool done = call([&] { return tensorstat_session_set_alerts(session, &options); });
  return done ? Py_NewRef(Py_None) : nullptr;
}

// take_alerts() -> lines of JSON: the alerts of the step_end() and session_end() that this thread called since the last
// take_alerts()
PyObject* take_alerts(PyObject*, PyObject*) {
  Ref list(PyList_New(0));
  for (const std::string& each : alerts_here) {
    const Ref text(PyUnicode_DecodeUTF8(each.data(), static_cast<Py_ssize_t>(each.size()), "replace"));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  alerts_here.clear();
  return list.release();
}

PyObject* set_initial_iteration(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  Whole64 iteration{"iteration"};
  if (PyArg_ParseTuple(arguments, "OO&", &capsule, whole64, &iteration) == 0) return nullptr;
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  tensorstat_session_set_initial_iteration(session, iteration.value);
  return Py_NewRef(Py_None);
}

// session_rank_folder(session, rank): "" where the session wants nothing
PyObject* session_rank_folder(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  Whole32 rank{"rank"};
  if (PyArg_ParseTuple(arguments, "OO&", &capsule, whole32, &rank) == 0) return nullptr;
  const tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  return guarded([&] {
    std::string folder(tensorstat_session_rank_folder(session, rank.value, nullptr, 0), '\0');
    tensorstat_session_rank_folder(session, rank.value, folder.data(), folder.size() + 1);
    return PyUnicode_DecodeFSDefaultAndSize(folder.data(), static_cast<Py_ssize_t>(folder.size()));
  });
}

PyObject* session_counters(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  tensorstat_counters now{};
  now.size = sizeof now;
  if (const tensorstat_code code = tensorstat_session_counters(session, &now)) return raise(code);
  const std::pair<const char*, std::uint64_t> counters[] = {{"operator_count", now.operator_count},
                                                            {"tensor_count", now.tensor_count},
                                                            {"overflow_count", now.overflow_count},
                                                            {"row_count", now.row_count},
                                                            {"waiting_row_count", now.waiting_row_count},
                                                            {"lost_row_count", now.lost_row_count},
                                                            {"file_count", now.file_count},
                                                            {"lost_file_count", now.lost_file_count},
                                                            {"lost_tensor_count", now.lost_tensor_count},
                                                            {"complex_count", now.complex_count},
                                                            {"stall_count", now.stall_count},
                                                            {"stalled_us", now.stalled_us},
                                                            {"held_bytes", now.held_bytes},
                                                            {"most_held_bytes", now.most_held_bytes}};
  Ref dict(PyDict_New());
  for (const auto& [name, value] : counters) {
    const Ref number(PyLong_FromUnsignedLongLong(value));
    if (!dict || !number || PyDict_SetItemString(dict.get(), name, number.get()) != 0) return nullptr;
  }
  return dict.release();
}

}  // namespace

PyMethodDef session_functions[] = {
    TENSORSTAT_METHOD(open_session,
                      "open_session(kind, config, dialect, layout, sync, memory_bytes, path, device_target, "
                      "framework_version, framework, world_size, device_rows, budget_bytes, threads)"),
    TENSORSTAT_METHOD(session_enabled, "session_enabled(session)"),
    TENSORSTAT_METHOD(session_demands, "session_demands(session): (failed operators, arguments of kernels)"),
    TENSORSTAT_METHOD(operator_named,
                      "operator_named(session, type, name, set_dump, stream_id, task_id): an operator, or None"),
    TENSORSTAT_METHOD(describe, "describe(session, operator, frames, parent)"),
    TENSORSTAT_METHOD(wants, "wants(session, operator, rank, device, graph, iteration, failed)"),
    TENSORSTAT_METHOD(collect,
                      "collect(session, operator, rank, device, graph, iteration, inputs, outputs, layout, failed, "
                      "constants)"),
    TENSORSTAT_METHOD(why_not, "why_not(x): why it is no tensor that can be measured, or None"),
    TENSORSTAT_METHOD(save_kernel_args,
                      "save_kernel_args(session, operator, rank, device, graph, iteration, names, values)"),
    TENSORSTAT_METHOD(save_execution_order, "save_execution_order(session, rank, graph, names)"),
    TENSORSTAT_METHOD(name_graph, "name_graph(session, graph, model)"),
    TENSORSTAT_METHOD(step_end, "step_end(session, None, rank, device, graph, iteration)"),
    TENSORSTAT_METHOD(session_flush, "session_flush(session)"),
    TENSORSTAT_METHOD(session_end, "session_end(session)"),
    TENSORSTAT_METHOD(session_start, "session_start(session)"),
    TENSORSTAT_METHOD(session_stop, "session_stop(session)"),
    TENSORSTAT_METHOD(set_alerts, "set_alerts(session, rules, keep_steps, steps_after, keep_bytes, most_events)"),
    TENSORSTAT_METHOD(take_alerts, "take_alerts() -> the alerts of this thread's calls, as JSON"),
    TENSORSTAT_METHOD(set_initial_iteration, "set_initial_iteration(session, iteration)"),
    TENSORSTAT_METHOD(session_rank_folder, "session_rank_folder(session, rank): a path"),
    TENSORSTAT_METHOD(session_counters, "session_counters(session): {name: count}"),
    {}};

}  // namespace tensorstat::python
