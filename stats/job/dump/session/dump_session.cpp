#include "stats/job/dump/session/dump_session.hpp"

#include <map>
#include <new>

#include "stats/core/base/float_environment.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/dialect.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/job/dump/config/config_dialect.hpp"

namespace tensorstat {

Result<std::unique_ptr<DumpSession::State>> DumpSession::State::open(Result<DumpConfig> config, DumpOptions options,
                                                                     std::shared_ptr<Notices> notices) {
  if (!config) return config.error();
  if (!options.path.empty()) config->path = options.path;
  if (file_name(options.dialect, {}) != "statistic.csv") {
    return Error{Code::kInvalid, "there is no statistic.csv in the dialect " + std::string(name(options.dialect)) +
                                     ", which has a file for each run of an operator"};
  }
  if (const auto order = written_order(options.dialect, config->statistic_category); !order) return order.error();
  AlertOptions alerts = options.alerts.wants_anything() ? std::move(options.alerts) : alerts_of_environment();
  auto state = std::make_unique<State>(*std::move(config), std::move(options), std::move(notices));
  if (const Status set = state->set_alerts(std::move(alerts)); !set) return set.error();
  return state;
}

DumpSession::DumpSession() = default;
DumpSession::DumpSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
DumpSession::DumpSession(DumpSession&&) noexcept = default;
DumpSession& DumpSession::operator=(DumpSession&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
DumpSession::~DumpSession() {
  const FloatEnvironment ieee;
  // A forked child has no session thread and must not write the parent's files. So it frees nothing.
  if (state_ != nullptr && state_->is_in_fork()) static_cast<void>(state_.release());
}

Result<DumpSession> DumpSession::from_environment(DumpOptions options) try {
  const FloatEnvironment ieee;
  auto notices = std::make_shared<Notices>(options.log);
  auto config = config_from_environment(*notices, options.path);
  if (!config) return config.error();
  if (!config->has_value()) return DumpSession();
  return open(State::open(**std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::from_file(const std::string& path, DumpOptions options) try {
  const FloatEnvironment ieee;
  auto notices = std::make_shared<Notices>(options.log);
  auto config = read_config(path, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::from_json(std::string_view text, DumpOptions options) try {
  const FloatEnvironment ieee;
  auto notices = std::make_shared<Notices>(options.log);
  auto config = parse_config_here(text, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::open(Result<std::unique_ptr<State>> state) {
  if (!state) return state.error();
  return DumpSession(*std::move(state));
}

DumpDemands DumpSession::demands() const {
  if (state_ == nullptr) return {};
  const DumpConfig& config = state_->config;
  return {.tensors = config.saves_tensors(),
          .statistics = config.saves_statistics(),
          .whole_operators = config.op_debug_mode == DebugMode::kOverflow,
          .synchronised_operators = config.op_debug_mode == DebugMode::kException,
          .device_format = !config.trans_flag,
          .kernel_args = config.save_kernel_args,
          .saved_values = config.takes_saved};
}

std::string DumpSession::path() const { return state_ == nullptr ? "" : state_->config.path; }

std::string DumpSession::rank_folder(std::uint32_t rank) const {
  return state_ == nullptr ? "" : state_->config.form->rank_folder(state_->config, rank);
}

std::string DumpSession::folder(const DumpPlace& place) const {
  if (state_ == nullptr) return "";
  const DumpConfig& config = state_->config;
  return config.form->folder(config, state_->options, state_->counted(place)).value_or("");
}

void DumpSession::start() {
  if (state_ != nullptr) state_->run_time_switch.store(State::Switch::kOn, std::memory_order_relaxed);
}

bool DumpSession::stop() {
  if (state_ == nullptr) return true;
  state_->run_time_switch.store(State::Switch::kOff, std::memory_order_relaxed);
  return !state_->config.enable || flush();
}

void DumpSession::set_initial_iteration(std::uint64_t iteration) {
  if (state_ != nullptr) state_->initial_iteration.store(iteration, std::memory_order_relaxed);
}

const DumpOperator* DumpSession::operator_named(std::string_view type, std::string_view full_scope_name, bool set_dump,
                                                std::optional<std::uint64_t> stream_id,
                                                std::optional<std::uint64_t> task_id) try {
  // In a forked child, a lock that another thread held is never released.
  if (state_ == nullptr || state_->is_in_fork()) return nullptr;
  return state_->operator_named(type, full_scope_name, set_dump, stream_id, task_id);
} catch (const std::exception&) {
  return nullptr;
}

void DumpSession::describe(const DumpOperator* op, std::span<const std::string> stack, std::string_view parent) {
  if (state_ == nullptr || op == nullptr || state_->closed || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  try {
    state_->describe(op, parent);
    const DumpConfig& config = state_->config;
    if (!op->wanted && (config.operators == nullptr || !config.operators->has_bounds())) return;
    state_->post([op, stack = std::vector(stack.begin(), stack.end()),
                  parent = std::string(parent)](DumpOutput& output) { output.describe(*op, stack, parent); });
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for stacks", "out of memory: the description of an operator is missing");
  }
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed);
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, Io io, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed) &&
         (op->has_every_io || op->is_bound || state_->selection.wants_io(io));
}

void DumpSession::collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors,
                          bool failed, std::string_view layout) {
  const FloatEnvironment ieee;
  if (!wants(place, op, failed) || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  state_->collect(place, op, tensors, layout);
}

void DumpSession::save_kernel_args(const DumpPlace& place, const DumpOperator* op,
                                   std::span<const std::pair<std::string, std::string>> args) {
  if (state_ != nullptr) state_->has_kernel_args.store(true, std::memory_order_relaxed);
  if (!wants(place, op) || !state_->config.save_kernel_args || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  try {
    std::map<std::string_view, std::string_view> texts;  // sorted by key, as in MindSpore
    for (const auto& [key, value] : args) texts[key] = value;
    std::string json;
    JsonWriter writer(json, {.indent = 4});
    if (texts.empty()) {
      writer.null();
    } else {
      writer.begin_object();
      for (const auto& [key, value] : texts) writer.key(key).text(value);
      writer.end();
    }
    state_->post([place = state_->counted(place), op, json = std::move(json)](DumpOutput& output) {
      output.save_kernel_args(place, *op, json);
    });
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for arguments", "out of memory: arguments of kernels are missing");
  }
}

void DumpSession::save_execution_order(std::uint32_t rank, std::uint32_t graph,
                                       std::span<const std::string> full_scope_names) {
  if (state_ == nullptr || state_->closed || state_->is_in_fork() || !state_->selection.wants_rank(rank)) return;
  const Notices::Hold hold(*state_->notices);
  try {
    std::string names;
    for (const auto& name : full_scope_names) names += one_line(name) + '\n';
    state_->post([rank, graph, names = std::move(names)](DumpOutput& output) {
      output.save_execution_order(rank, graph, names);
    });
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for orders", "out of memory: an execution order is missing");
  }
}

void DumpSession::save(const DumpPlace& place, std::string_view name, const DumpTensor& tensor) {
  const FloatEnvironment ieee;
  collect(place, operator_named(kSavedType, name), {&tensor, 1});
}

void DumpSession::name_graph(std::uint32_t graph, std::string_view model) {
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  try {
    state_->post(
        [graph, model = std::string(model)](DumpOutput& output) { output.name_graph(graph, escaped_op_name(model)); });
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for models", "out of memory: the name of a model is missing");
  }
}

bool DumpSession::step_end(const DumpPlace& place) {
  const FloatEnvironment ieee;
  return state_ == nullptr || state_->closed.load(std::memory_order_relaxed) || state_->step_end(place);
}

std::shared_ptr<DumpGraph> DumpSession::begin_capture() try {
  const FloatEnvironment ieee;
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return nullptr;
  const Notices::Hold hold(*state_->notices);
  return state_->begin_capture();
} catch (const std::exception&) {
  return nullptr;
}

void DumpSession::end_capture() {
  if (state_ != nullptr && !state_->is_in_fork()) state_->end_capture();
}

bool DumpSession::replayed(DumpGraph& graph, std::uint64_t iteration, void* stream,
                           std::uint64_t added_to_numbers) try {
  const FloatEnvironment ieee;
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return true;
  const Notices::Hold hold(*state_->notices);
  return state_->replayed(graph, iteration, stream, added_to_numbers);
} catch (const std::exception&) {
  return false;
}

std::vector<LateFaults> DumpSession::settle(bool with_this_step) {
  const FloatEnvironment ieee;
  if (state_ == nullptr || state_->is_in_fork()) return {};
  const Notices::Hold hold(*state_->notices);
  return state_->settle(with_this_step);
}

bool DumpSession::flush() {
  const FloatEnvironment ieee;
  if (state_ == nullptr || state_->is_in_fork()) return true;
  const Notices::Hold hold(*state_->notices);
  return state_->flush();
}

bool DumpSession::close() {
  const FloatEnvironment ieee;
  return state_ == nullptr || state_->is_in_fork() || state_->close();
}

DumpCounters DumpSession::counters() const {
  if (state_ == nullptr) return {};
  const DumpTally& tally = state_->work.tally;
  const DumpOutput::Written written = state_->work.output->written();
  const DumpMeter::Places places = state_->work.meter.places();
  return {.operator_count = tally.operators,
          .tensor_count = tally.tensors,
          .overflow_count = tally.overflows,
          .row_count = written.rows,
          .waiting_row_count = written.waiting_rows,
          .lost_row_count = written.lost_rows,
          .file_count = written.tensor_files,
          .lost_file_count = tally.lost_files,
          .lost_tensor_count = tally.lost_tensors,
          .complex_count = tally.complex,
          .stall_count = tally.stalls,
          .stalled_us = tally.stalled_us,
          .held_bytes = state_->pool.held_bytes(),
          .most_held_bytes = state_->pool.most_held_bytes(),
          .device_row_count = places.on_device,
          .host_row_count = places.on_host,
          .fallback_row_count = places.fallen_back,
          .device_bytes = places.device_memory.current_bytes,
          .most_device_bytes = places.device_memory.peak_bytes};
}

}  // namespace tensorstat
