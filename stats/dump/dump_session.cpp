#include "stats/dump/dump_session.hpp"

#include <cstdlib>
#include <map>
#include <new>

#include "stats/dump/mindspore/json_text.hpp"
#include "stats/rows/dialect.hpp"

namespace tensorstat {

Result<std::unique_ptr<DumpSession::State>> DumpSession::State::open(
    Result<DumpConfig> config, DumpOptions options, std::shared_ptr<Notices> notices) {
  if (!config) return config.error();
  if (!options.path.empty()) config->path = options.path;
  if (file_name(options.dialect, {}) != "statistic.csv") {
    return Error{Code::kInvalid, "statistic.csv has no form in the dialect " + std::string(name(options.dialect)) +
                                     ", which has a file for each run of an operator"};
  }
  if (const auto order = written_order(options.dialect, config->statistic_category); !order) return order.error();
  return std::make_unique<State>(*std::move(config), std::move(options), std::move(notices));
}

DumpSession::DumpSession() = default;
DumpSession::DumpSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
DumpSession::DumpSession(DumpSession&&) noexcept = default;
DumpSession& DumpSession::operator=(DumpSession&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
DumpSession::~DumpSession() {
  // A forked child has neither the thread nor a right to the files: it leaves all of it alone.
  if (state_ != nullptr && state_->is_in_fork()) static_cast<void>(state_.release());
}

Result<DumpSession> DumpSession::from_environment(DumpOptions options) try {
  auto notices = std::make_shared<Notices>(options.log);
  auto config = config_from_environment(*notices, options.path);
  if (!config) return config.error();
  if (!config->has_value()) return DumpSession();
  return open(State::open(**std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::from_file(const std::string& path, DumpOptions options) try {
  auto notices = std::make_shared<Notices>(options.log);
  auto config = read_config(path, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::from_json(std::string_view text, DumpOptions options) try {
  auto notices = std::make_shared<Notices>(options.log);
  const char* diagnostic = std::getenv("MS_DIAGNOSTIC_DATA_PATH");
  auto config = parse_config(text, diagnostic == nullptr ? "" : diagnostic, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

Result<DumpSession> DumpSession::open(Result<std::unique_ptr<State>> state) {
  if (!state) return state.error();
  return DumpSession(*std::move(state));
}

const DumpOperator* DumpSession::operator_named(std::string_view type,
                                                std::string_view full_scope_name, bool set_dump,
                                                std::uint64_t stream_id,
                                                std::uint64_t task_id) try {
  // In a forked child another thread's lock would never be released.
  if (state_ == nullptr || state_->is_in_fork()) return nullptr;
  return state_->operator_named(type, full_scope_name, set_dump, stream_id, task_id);
} catch (const std::exception&) {
  return nullptr;
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed);
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, Io io, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed) && state_->selection.wants_io(io);
}

void DumpSession::collect(const DumpPlace& place, const DumpOperator* op,
                          std::span<const DumpTensor> tensors, bool failed) {
  if (!wants(place, op, failed) || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  state_->collect(place, op, tensors);
}

void DumpSession::save_kernel_args(const DumpPlace& place, const DumpOperator* op,
                                   std::span<const std::pair<std::string, std::string>> args) {
  if (!wants(place, op) || !state_->config.save_kernel_args || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  try {
    std::map<std::string_view, std::string_view> texts;  // MindSpore's are in the order of keys
    for (const auto& [key, value] : args) texts[key] = value;
    std::string json;
    for (const auto& [key, value] : texts) {
      json += (json.empty() ? "{\n    " : ",\n    ") + json_quoted(key) + ": " + json_quoted(value);
    }
    json += json.empty() ? "null" : "\n}";
    const auto folder = state_->writer.folders().folder(state_->counted(place));
    state_->post(State::Text{folder + "/" + kernel_args_file_name(op->type, op->name), std::move(json)});
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for arguments", "out of memory: arguments of kernels are missing");
  }
}

void DumpSession::save_execution_order(std::uint32_t rank, std::uint32_t graph,
                                       std::span<const std::string> full_scope_names) {
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return;
  const Notices::Hold hold(*state_->notices);
  try {
    std::string text = "NodeExecutionOrder-FullNameWithScope\n";
    for (const auto& name : full_scope_names) text += one_line(name) + '\n';
    state_->post(State::Text{state_->writer.folders().execution_order_file(rank, graph), std::move(text)});
  } catch (const std::exception&) {
    state_->notices->warn_once("memory for orders", "out of memory: an execution order is missing");
  }
}

bool DumpSession::step_end(const DumpPlace& place) {
  return state_ == nullptr || state_->closed.load(std::memory_order_relaxed) || state_->step_end(place);
}

bool DumpSession::flush() {
  if (state_ == nullptr || state_->is_in_fork()) return true;
  const Notices::Hold hold(*state_->notices);
  return state_->flush();
}

bool DumpSession::close() { return state_ == nullptr || state_->is_in_fork() || state_->close(); }

DumpCounters DumpSession::counters() const {
  if (state_ == nullptr) return {};
  const auto& counts = state_->counts;
  const LineTally& rows = state_->writer.rows();
  return {.operator_count = counts.operators,
          .tensor_count = counts.tensors,
          .overflow_count = counts.overflows,
          .row_count = rows.written,
          .waiting_row_count = rows.waiting,
          .lost_row_count = rows.dropped,
          .file_count = state_->writer.file_count(),
          .lost_file_count = counts.lost_files,
          .lost_tensor_count = counts.lost_tensors,
          .complex_count = counts.complex,
          .stall_count = counts.stalls,
          .stalled_us = counts.stalled_us,
          .held_bytes = state_->pool.held_bytes(),
          .most_held_bytes = state_->pool.most_held_bytes()};
}

}  // namespace tensorstat
