// Dump sessions: opened, started and stopped, asked.
#include <new>
#include <string>
#include <vector>

#include "stats/bindings/python/native/python.hpp"

namespace tensorstat::python {
namespace {

// open_session(kind, config, dialect, layout, sync, memory_bytes, path, device_target, framework_version, framework,
// world_size, device_rows, budget_bytes, threads, ordered_by_queue, settles_later) -> a session. `kind` of the config:
// 0 the environment's, 1 a path, 2 a text.
PyObject* open_session(PyObject*, PyObject* arguments) {
  int kind = 0;
  const char* config = nullptr;
  Whole64 memory{"memory_bytes"}, budget{"budget_bytes"};
  Whole32 world_size{"world_size"}, threads{"threads"};
  tensorstat_meter_options meter = TENSORSTAT_METER_OPTIONS;
  tensorstat_session_options options = TENSORSTAT_SESSION_OPTIONS;
  if (PyArg_ParseTuple(arguments, "iziiiO&zsssO&pO&O&p|p", &kind, &config, &options.dialect, &options.layout,
                       &options.sync, whole64, &memory, &options.path, &options.device_target,
                       &options.framework_version, &options.framework, whole32, &world_size, &options.device_rows,
                       whole64, &budget, whole32, &threads, &options.ordered_by_queue, &options.settles_later) == 0) {
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

// set_alerts(session, rules, keep_steps, steps_after, keep_bytes, most_events, save_tensors, event_bytes)
PyObject* set_alerts(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  tensorstat_alert_options options = TENSORSTAT_ALERT_OPTIONS;
  Whole32 keep{"keep"}, after{"keep"}, most{"most_events"};
  Whole64 bytes{"keep_bytes"}, event_bytes{"event_bytes"};
  if (PyArg_ParseTuple(arguments, "OsO&O&O&O&pO&", &capsule, &options.rules, whole32, &keep, whole32, &after, whole64,
                       &bytes, whole32, &most, &options.save_tensors, whole64, &event_bytes) == 0) {
    return nullptr;
  }
  tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  options.keep_steps = keep.value;
  options.steps_after = after.value;
  options.keep_bytes = bytes.value;
  options.most_events = most.value;
  options.event_bytes = event_bytes.value;
  options.on_alert = keep_alert;
  const bool done = call([&] { return tensorstat_session_set_alerts(session, &options); });
  return done ? Py_NewRef(Py_None) : nullptr;
}

PyObject* alert_groups(PyObject*, PyObject* arguments) {
  PyObject* capsule = nullptr;
  if (PyArg_ParseTuple(arguments, "O", &capsule) == 0) return nullptr;
  const tensorstat_session* const session = handle_of<tensorstat_session>(capsule);
  if (session == nullptr) return nullptr;
  return guarded([&] {
    std::string lines(tensorstat_session_alert_groups(session, nullptr, 0), '\0');
    tensorstat_session_alert_groups(session, lines.data(), lines.size() + 1);
    return PyUnicode_FromStringAndSize(lines.data(), static_cast<Py_ssize_t>(lines.size()));
  });
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
                                                            {"most_held_bytes", now.most_held_bytes},
                                                            {"device_row_count", now.device_row_count},
                                                            {"host_row_count", now.host_row_count},
                                                            {"fallback_row_count", now.fallback_row_count},
                                                            {"device_bytes", now.device_bytes},
                                                            {"most_device_bytes", now.most_device_bytes}};
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
                      "framework_version, framework, world_size, device_rows, budget_bytes, threads, ordered_by_queue, "
                      "settles_later)"),
    TENSORSTAT_METHOD(session_enabled, "session_enabled(session)"),
    TENSORSTAT_METHOD(session_demands, "session_demands(session): (failed operators, arguments of kernels)"),
    TENSORSTAT_METHOD(name_graph, "name_graph(session, graph, model)"),
    TENSORSTAT_METHOD(session_flush, "session_flush(session)"),
    TENSORSTAT_METHOD(session_end, "session_end(session)"),
    TENSORSTAT_METHOD(session_start, "session_start(session)"),
    TENSORSTAT_METHOD(session_stop, "session_stop(session)"),
    TENSORSTAT_METHOD(set_alerts,
                      "set_alerts(session, rules, keep_steps, steps_after, keep_bytes, most_events, save_tensors, "
                      "event_bytes)"),
    TENSORSTAT_METHOD(alert_groups, "alert_groups(session): the groups of ranks that its rules name, in lines"),
    TENSORSTAT_METHOD(take_alerts, "take_alerts() -> the alerts of this thread's calls, as JSON"),
    TENSORSTAT_METHOD(set_initial_iteration, "set_initial_iteration(session, iteration)"),
    TENSORSTAT_METHOD(session_rank_folder, "session_rank_folder(session, rank): a path"),
    TENSORSTAT_METHOD(session_counters, "session_counters(session): {name: count}"),
    {}};

}  // namespace tensorstat::python
