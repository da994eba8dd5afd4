// Dump sessions of <tensorstat/tensorstat.h>.
#include <tensorstat/tensorstat.h>

#include <tensorstat/dump.hpp>

#include "stats/bindings/c/support.hpp"

using namespace tensorstat;
using c::failed;
using c::guarded;
using c::missing;

struct tensorstat_session {
  DumpSession session;
};

namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

Result<DumpOptions> dump_options(const tensorstat_session_options* given) {
  constexpr tensorstat_session_options kDefaults = TENSORSTAT_SESSION_OPTIONS;
  const auto options = c::taken(given == nullptr ? &kDefaults : given, kDefaults);
  if (!options) return Error{Code::kInvalid, "the `size` of tensorstat_session_options is not set"};
  auto meter = c::meter_options(options->meter);
  if (!meter) return meter.error();
  const auto dialect = c::chosen<Dialect>(options->dialect, TENSORSTAT_DIALECT_MSPROBE_O2, "dialect");
  if (!dialect) return dialect.error();
  const auto layout = c::chosen<DumpLayout>(options->layout, TENSORSTAT_BY_STEP, "layout");
  if (!layout) return layout.error();
  const auto sync = c::chosen<Sync>(options->sync, TENSORSTAT_SYNC_ROW, "sync");
  if (!sync) return sync.error();
  DumpOptions to;
  to.log = meter->log;
  to.meter = *std::move(meter);
  to.dialect = *dialect;
  to.layout = *layout;
  to.sync = *sync;
  to.memory_bytes = options->memory_bytes;
  to.path = text_of(options->path);
  to.names_are_escaped = options->names_are_escaped != 0;
  to.device_target = text_of(options->device_target);
  to.framework_version = text_of(options->framework_version);
  to.framework = text_of(options->framework);
  to.world_size = options->world_size;
  to.device_rows = options->device_rows != 0;
  to.ordered_by_queue = options->ordered_by_queue != 0;
  to.settles_later = options->settles_later != 0;
  return to;
}

template <typename Open>
tensorstat_code open_session(const tensorstat_session_options* options, tensorstat_session** session,
                             const Open& open) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr) return missing("the pointer for the session");
    auto taken = dump_options(options);
    if (!taken) return failed(taken.error());
    Result<DumpSession> opened = open(*std::move(taken));
    if (!opened) return failed(opened.error());
    *session = new tensorstat_session{*std::move(opened)};
    return TENSORSTAT_OK;
  });
}

std::optional<DumpPlace> place_of(const tensorstat_place* given) {
  const auto place = c::taken(given, tensorstat_place TENSORSTAT_PLACE);
  if (!place) return std::nullopt;
  return DumpPlace{.rank = place->rank,
                   .device = place->device,
                   .graph = place->graph,
                   .iteration = place->iteration,
                   .constants = place->constants != 0};
}

// The text that `make` returns, or "" if memory is exhausted.
template <typename Make>
size_t put_text(char* text, size_t room, const Make& make) {
  const c::Uncancelled here;
  std::string whole;
  try {
    whole = make();
  } catch (...) {
    whole.clear();
  }
  return c::put_text(whole, text, room);
}

// A C operator is a C++ operator with another type name.
const DumpOperator* operator_of(const tensorstat_operator* op) { return reinterpret_cast<const DumpOperator*>(op); }

// Calls `release` when the last copy is gone, unless the call with this tensor returned an error.
struct Owner {
  void (*release)(void*);
  void* owner;
  bool armed = false;
  ~Owner() {
    if (armed) release(owner);
  }
};

Result<DumpTensor> dump_tensor(const tensorstat_dump_tensor& given, const Tensor& tensor) {
  const auto io = c::chosen<Io>(given.io, TENSORSTAT_OUTPUT, "io");
  if (!io) return io.error();
  const auto stored = c::chosen<Stored>(given.stored, TENSORSTAT_COMPLEX128, "stored");
  if (!stored) return stored.error();
  if (given.shape == nullptr && given.dimension_count != 0)
    return Error{Code::kInvalid, "it has dimensions and no shape"};
  DumpTensor to{.tensor = tensor,
                .shape = Shape(given.shape, given.shape + given.dimension_count),
                .io = *io,
                .slot = given.slot,
                .stored = *stored,
                .timestamp_us = given.timestamp_us,
                .requires_grad = given.requires_grad != 0,
                .faults = given.faults,
                .number = given.number,
                .is_for_event = given.is_for_event != 0};
  if (given.format != nullptr) to.format = given.format;
  if (given.differs_over != nullptr) to.differs_over = given.differs_over;
  return to;
}

}  // namespace

tensorstat_code tensorstat_session_from_environment(const tensorstat_session_options* options,
                                                    tensorstat_session** session) {
  return open_session(options, session,
                      [](DumpOptions taken) { return DumpSession::from_environment(std::move(taken)); });
}

tensorstat_code tensorstat_session_from_file(const char* path, const tensorstat_session_options* options,
                                             tensorstat_session** session) {
  return open_session(options, session,
                      [path](DumpOptions taken) { return DumpSession::from_file(text_of(path), std::move(taken)); });
}

tensorstat_code tensorstat_session_from_json(const char* text, const tensorstat_session_options* options,
                                             tensorstat_session** session) {
  return open_session(options, session,
                      [text](DumpOptions taken) { return DumpSession::from_json(text_of(text), std::move(taken)); });
}

int tensorstat_session_enabled(const tensorstat_session* session) {
  return session != nullptr && session->session.enabled();
}

tensorstat_code tensorstat_session_demands(const tensorstat_session* session, tensorstat_demands* demands) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr || demands == nullptr || demands->size < sizeof(size_t)) {
      return missing(session == nullptr ? "the session" : "tensorstat_demands");
    }
    const DumpDemands now = session->session.demands();
    const size_t room = demands->size;
    const tensorstat_demands to{
        room,           now.tensors, now.statistics, now.whole_operators, now.synchronised_operators, now.device_format,
        now.kernel_args};
    std::memcpy(demands, &to, std::min(room, sizeof to));
    return TENSORSTAT_OK;
  });
}

size_t tensorstat_session_path(const tensorstat_session* session, char* text, size_t room) {
  return put_text(text, room, [&] { return session == nullptr ? "" : session->session.path(); });
}

size_t tensorstat_session_rank_folder(const tensorstat_session* session, uint32_t rank, char* text, size_t room) {
  return put_text(text, room, [&] { return session == nullptr ? "" : session->session.rank_folder(rank); });
}

size_t tensorstat_session_folder(const tensorstat_session* session, const tensorstat_place* place, char* text,
                                 size_t room) {
  const auto where = place_of(place);
  return put_text(text, room, [&] { return session == nullptr || !where ? "" : session->session.folder(*where); });
}

void tensorstat_session_start(tensorstat_session* session) {
  const c::Uncancelled here;
  if (session != nullptr) session->session.start();
}

int tensorstat_session_stop(tensorstat_session* session) {
  const c::Uncancelled here;
  return session != nullptr && session->session.stop();
}

void tensorstat_session_set_initial_iteration(tensorstat_session* session, uint64_t iteration) {
  const c::Uncancelled here;
  if (session != nullptr) session->session.set_initial_iteration(iteration);
}

tensorstat_code tensorstat_session_set_alerts(tensorstat_session* session, const tensorstat_alert_options* options) {
  return guarded([&]() -> tensorstat_code {
    const auto given = c::taken(options, tensorstat_alert_options TENSORSTAT_ALERT_OPTIONS);
    if (session == nullptr || !given) return missing(session == nullptr ? "the session" : "tensorstat_alert_options");
    AlertOptions to{.rules = text_of(given->rules),
                    .keep_steps = given->keep_steps,
                    .steps_after = given->steps_after,
                    .keep_bytes = given->keep_bytes,
                    .most_events = given->most_events,
                    .save_tensors = given->save_tensors != 0,
                    .event_bytes = given->event_bytes};
    if (given->on_alert != nullptr) {
      to.on_alert = [call = given->on_alert, user = given->user](const Alert& alert) {
        call(to_json(alert).c_str(), user);
      };
    }
    const Status set = session->session.set_alerts(std::move(to));
    return set ? TENSORSTAT_OK : failed(set.error());
  });
}

size_t tensorstat_session_alert_groups(const tensorstat_session* session, char* text, size_t room) {
  return put_text(text, room, [&] {
    std::string lines;
    if (session == nullptr) return lines;
    for (const std::string& group : session->session.alert_groups()) lines += group + '\n';
    return lines;
  });
}

const tensorstat_operator* tensorstat_operator_named(tensorstat_session* session, const char* type,
                                                     const char* full_scope_name, int set_dump, uint64_t stream_id,
                                                     uint64_t task_id) {
  const c::Uncancelled here;
  if (session == nullptr || type == nullptr || full_scope_name == nullptr) return nullptr;
  const auto given = [](uint64_t id) { return id == TENSORSTAT_NO_ID ? std::nullopt : std::optional(id); };
  return reinterpret_cast<const tensorstat_operator*>(
      session->session.operator_named(type, full_scope_name, set_dump != 0, given(stream_id), given(task_id)));
}

tensorstat_code tensorstat_describe(tensorstat_session* session, const tensorstat_operator* op,
                                    const char* const* stack, size_t frame_count, const char* parent) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr) return missing("the session");
    if (frame_count != 0 && stack == nullptr) return missing("the frames of the stack");
    std::vector<std::string> frames;
    for (size_t i = 0; i < frame_count; ++i) frames.push_back(text_of(stack[i]));
    session->session.describe(operator_of(op), frames, text_of(parent));
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_name_graph(tensorstat_session* session, uint32_t graph, const char* model) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr || model == nullptr) return missing(session == nullptr ? "the session" : "the model's name");
    session->session.name_graph(graph, model);
    return TENSORSTAT_OK;
  });
}

int tensorstat_wants(const tensorstat_session* session, const tensorstat_place* place, const tensorstat_operator* op,
                     int failed) {
  const auto where = place_of(place);
  return session != nullptr && where && session->session.wants(*where, operator_of(op), failed != 0);
}

int tensorstat_wants_io(const tensorstat_session* session, const tensorstat_place* place, const tensorstat_operator* op,
                        int32_t io, int failed) {
  const auto where = place_of(place);
  if (session == nullptr || !where || (io != TENSORSTAT_INPUT && io != TENSORSTAT_OUTPUT)) return 0;
  return session->session.wants(*where, operator_of(op), static_cast<Io>(io), failed != 0);
}

tensorstat_code tensorstat_collect(tensorstat_session* session, const tensorstat_place* place,
                                   const tensorstat_operator* op, const tensorstat_dump_tensor* tensors,
                                   size_t tensor_count, int failed_to_run) {
  return tensorstat_collect_call(session, place, op, tensors, tensor_count, failed_to_run, nullptr);
}

tensorstat_code tensorstat_collect_call(tensorstat_session* session, const tensorstat_place* place,
                                        const tensorstat_operator* op, const tensorstat_dump_tensor* tensors,
                                        size_t tensor_count, int failed_to_run, const char* layout) {
  return guarded([&]() -> tensorstat_code {
    const auto where = place_of(place);
    if (session == nullptr || !where) return missing(session == nullptr ? "the session" : "the place");
    if (tensor_count != 0 && tensors == nullptr) return missing("the list of tensors");
    c::Tensors list;
    std::vector<DumpTensor> handed;
    std::vector<std::shared_ptr<Owner>> owners;
    handed.reserve(tensor_count);
    for (size_t i = 0; i < tensor_count; ++i) {
      const auto given = c::taken(c::at(tensors, i), tensorstat_dump_tensor TENSORSTAT_DUMP_TENSOR);
      if (!given) return missing("a tensor of the list");
      if (const Status status = list.take(given->tensor, 1); !status) return failed(status.error());
      auto to = dump_tensor(*given, list.all().back());
      if (!to) return failed({to.error().code, "tensor " + std::to_string(i) + ": " + to.error().message});
      if (given->release != nullptr) {
        owners.push_back(std::make_shared<Owner>(Owner{given->release, given->owner}));
        to->keep_alive = owners.back();
      }
      handed.push_back(*std::move(to));
    }
    for (const auto& owner : owners) owner->armed = true;
    owners.clear();
    session->session.collect(*where, operator_of(op), handed, failed_to_run != 0, text_of(layout));
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_save_kernel_args(tensorstat_session* session, const tensorstat_place* place,
                                            const tensorstat_operator* op, const char* const* names,
                                            const char* const* values, size_t count) {
  return guarded([&]() -> tensorstat_code {
    const auto where = place_of(place);
    if (session == nullptr || !where) return missing(session == nullptr ? "the session" : "the place");
    if (count != 0 && (names == nullptr || values == nullptr)) return missing("the arguments' names or values");
    std::vector<std::pair<std::string, std::string>> args;
    for (size_t i = 0; i < count; ++i) args.emplace_back(text_of(names[i]), text_of(values[i]));
    session->session.save_kernel_args(*where, operator_of(op), args);
    return TENSORSTAT_OK;
  });
}

tensorstat_code tensorstat_save_execution_order(tensorstat_session* session, uint32_t rank, uint32_t graph,
                                                const char* const* full_scope_names, size_t count) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr) return missing("the session");
    if (count != 0 && full_scope_names == nullptr) return missing("the list of operators");
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(text_of(full_scope_names[i]));
    session->session.save_execution_order(rank, graph, names);
    return TENSORSTAT_OK;
  });
}

int tensorstat_step_end(tensorstat_session* session, const tensorstat_place* place) {
  const c::Uncancelled here;
  const auto where = place_of(place);
  return session != nullptr && where && session->session.step_end(*where);
}

struct tensorstat_graph {
  std::shared_ptr<DumpGraph> graph;
};

tensorstat_code tensorstat_begin_capture(tensorstat_session* session, tensorstat_graph** graph) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr || graph == nullptr) {
      return missing(session == nullptr ? "the session" : "the place for the graph");
    }
    *graph = nullptr;
    auto made = std::make_unique<tensorstat_graph>();
    made->graph = session->session.begin_capture();
    if (made->graph != nullptr) *graph = made.release();
    return TENSORSTAT_OK;
  });
}

void tensorstat_end_capture(tensorstat_session* session) {
  const c::Uncancelled here;
  if (session != nullptr) session->session.end_capture();
}

int tensorstat_replayed(tensorstat_session* session, tensorstat_graph* graph, uint64_t iteration, void* stream,
                        uint64_t added_to_numbers) {
  const c::Uncancelled here;
  return session != nullptr && graph != nullptr &&
         session->session.replayed(*graph->graph, iteration, stream, added_to_numbers);
}

void tensorstat_graph_free(tensorstat_graph* graph) {
  const c::Uncancelled here;
  delete graph;
}

void tensorstat_settle(tensorstat_session* session, int with_this_step, void (*tell)(uint64_t, uint32_t, void*),
                       void* user) {
  const c::Uncancelled here;
  if (session == nullptr) return;
  for (const LateFaults& each : session->session.settle(with_this_step != 0)) {
    if (tell != nullptr) tell(each.number, each.faults, user);
  }
}

int tensorstat_session_flush(tensorstat_session* session) {
  const c::Uncancelled here;
  return session != nullptr && session->session.flush();
}

int tensorstat_session_end(tensorstat_session* session) {
  const c::Uncancelled here;
  return session != nullptr && session->session.close();
}

void tensorstat_session_close(tensorstat_session* session) { c::destroy(session); }

tensorstat_code tensorstat_session_counters(const tensorstat_session* session, tensorstat_counters* counters) {
  return guarded([&]() -> tensorstat_code {
    if (session == nullptr || counters == nullptr || counters->size < sizeof(size_t)) {
      return missing(session == nullptr ? "the session" : "tensorstat_counters");
    }
    const DumpCounters now = session->session.counters();
    const size_t room = counters->size;
    const tensorstat_counters to{room,
                                 now.operator_count,
                                 now.tensor_count,
                                 now.overflow_count,
                                 now.row_count,
                                 now.lost_row_count,
                                 now.file_count,
                                 now.lost_tensor_count,
                                 now.stall_count,
                                 now.stalled_us,
                                 now.held_bytes,
                                 now.most_held_bytes,
                                 now.waiting_row_count,
                                 now.lost_file_count,
                                 now.complex_count,
                                 now.device_row_count,
                                 now.host_row_count,
                                 now.fallback_row_count,
                                 now.device_bytes,
                                 now.most_device_bytes};
    std::memcpy(counters, &to, std::min(room, sizeof to));
    return TENSORSTAT_OK;
  });
}
