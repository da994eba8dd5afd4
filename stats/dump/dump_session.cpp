#include "stats/dump/dump_session.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <nlohmann/json.hpp>

#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

// MindSpore 2.7 writes a column for every category it was given; later versions, and we, once.
Categories columns_of(const DumpConfig& config, Dialect dialect) {
  if (!config.saves_statistics()) return {};
  if (dialect == Dialect::kMindspore27) return config.statistic_category;
  Categories once;
  for (const Category category : config.statistic_category) {
    if (std::find(once.begin(), once.end(), category) == once.end()) once.push_back(category);
  }
  return once;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7f) c = '_';
  }
  return line;
}

}  // namespace

DumpSession::State::State(DumpConfig given_config, DumpOptions given_options,
                          std::shared_ptr<Notices> given_notices)
    : config(std::move(given_config)),
      options(std::move(given_options)),
      notices(std::move(given_notices)),
      selection(config, options.device_target == "CPU"),
      columns(columns_of(config, options.dialect)),
      process(getpid()),
      pool(options.memory_bytes),
      examiner(config, columns, options.meter, notices),
      writer(config, options, columns, notices) {}

DumpSession::State::~State() { close(); }

bool DumpSession::State::wants(const DumpPlace& place, const DumpOperator* op, bool failed) const {
  if (closed.load(std::memory_order_relaxed)) return false;
  if (!selection.wants_device(place.device)) {
    say_unlisted(place.device);
    return false;
  }
  if (op == nullptr || !op->wanted) return false;
  if (config.op_debug_mode == DebugMode::kException && !failed) return false;
  return !enough_overflows.load(std::memory_order_relaxed) && selection.wants_iteration(place);
}

// A dump that stays empty says why, once a device.
void DumpSession::State::say_unlisted(std::uint32_t device) const noexcept try {
  const std::uint64_t bit = std::uint64_t{1} << std::min<std::uint32_t>(device, 63);
  if ((unlisted_devices_.load(std::memory_order_relaxed) & bit) != 0 || is_in_fork()) return;
  if ((unlisted_devices_.fetch_or(bit) & bit) != 0) return;
  std::string listed;
  for (const std::uint32_t each : config.support_device) {
    listed += (listed.empty() ? "" : ", ") + std::to_string(each);
  }
  notices->warn_once("device " + std::to_string(device),
                     "nothing of device " + std::to_string(device) + " is dumped: support_device lists " +
                         (listed.empty() ? "no device" : shown(listed, 200)));
} catch (const std::exception&) {  // no memory for the words
}

const DumpOperator* DumpSession::State::operator_named(std::string_view type, std::string_view name,
                                                       bool set_dump, std::uint64_t stream_id,
                                                       std::uint64_t task_id) {
  std::string key = std::string(type) + '\n' + std::string(name) + '\n' + std::to_string(set_dump) +
                    ' ' + std::to_string(stream_id) + ' ' + std::to_string(task_id);
  const std::lock_guard lock(operators_mutex_);
  auto& op = operators_[std::move(key)];
  if (op == nullptr) {
    op = std::make_unique<DumpOperator>();
    op->type = one_line(type);
    op->name = one_line(name);
    op->stream_id = stream_id;
    op->task_id = task_id;
    op->wanted = selection.wants_operator(type, name, set_dump, options.names_are_escaped);
  }
  return op.get();
}

void DumpSession::State::hold_all(std::span<const DumpTensor> tensors, PendingRun& run) {
  for (const DumpTensor& given : tensors) {
    if (!selection.wants_io(given.io)) continue;
    auto held = hold(given, !config.trans_flag);
    if (!held) {
      ++counts.lost_tensors;
      notices->warn_once("refused",
                         "a tensor of " + run.op->name + " is refused: " + held.error().message);
    } else if (held->value_count == 0) {
      notices->inform_once("empty",
                           "empty tensors are not dumped; the first is of " + run.op->name);
    } else {
      // The verdict on an overflow is of the whole tensor; it is cut after that.
      const bool is_judged = config.op_debug_mode == DebugMode::kOverflow && Examiner::looks_at(*held);
      if (!is_judged) take_sample(*held, sample_num());
      held->timestamp_us = given.timestamp_us != 0 ? given.timestamp_us : next_timestamp_us();
      run.tensors.push_back(*std::move(held));
    }
  }
}

// Distinct within the session, because file names tell tensors apart by it.
std::uint64_t DumpSession::State::next_timestamp_us() {
  using std::chrono::microseconds;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now =
      static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(since_epoch).count());
  std::uint64_t last = last_timestamp_us_.load();
  std::uint64_t mine = 0;
  do {
    mine = std::max(now, last + 1);
  } while (!last_timestamp_us_.compare_exchange_weak(last, mine));
  return mine;
}

void DumpSession::State::collect(const DumpPlace& place, const DumpOperator* op,
                                 std::span<const DumpTensor> tensors) {
  PendingRun run;
  run.place = counted(place);
  run.op = op;
  hold_all(tensors, run);
  if (run.tensors.empty()) return;
  ++counts.operators;
  hand_over(std::move(run));
  // The framework is about to give up: what it leaves behind must be on disk before that.
  if (config.op_debug_mode == DebugMode::kException) flush();
}

void DumpSession::State::hand_over(PendingRun run) {
  constexpr std::size_t kAlignment = 64;
  std::size_t copied_bytes = 0;
  std::uint64_t other_bytes = sizeof run + run.tensors.size() * sizeof(PendingTensor);
  bool may_wait = true;
  for (const PendingTensor& held : run.tensors) {
    if (held.must_be_copied()) {
      copied_bytes += (held.tensor.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    } else {
      other_bytes += held.tensor.bytes();
      may_wait &= held.keep_alive != nullptr;
    }
  }
  if (may_wait) run.buffer = pool.take(copied_bytes, other_bytes);
  if (run.buffer) {
    std::byte* to = run.buffer.data();
    for (PendingTensor& held : run.tensors) {
      if (!held.must_be_copied()) continue;
      const std::size_t size = held.tensor.bytes();
      examiner.copy(held.tensor, {to, size});
      to += (size + kAlignment - 1) / kAlignment * kAlignment;
    }
    post(std::move(run));
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  flush();  // rows come in the order of hand-over
  for (PendingTensor& held : run.tensors) {
    if (held.tensor.strides == nullptr) continue;
    auto bits = std::make_shared<std::vector<std::byte>>(held.tensor.bytes());
    examiner.copy(held.tensor, *bits);
    held.keep_alive = std::move(bits);
  }
  {
    const std::lock_guard lock(work_mutex);
    std::deque<Item> items;
    items.emplace_back(std::move(run));
    work_on(items);
  }
  if (!may_wait) return;
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  ++counts.stalls;
  counts.stalled_us += static_cast<std::uint64_t>(took.count());
  notices->warn_once("stall", "tensors come faster than they are dumped: the " +
                                  std::to_string(options.memory_bytes) +
                                  " bytes of memory_bytes are full, and training waits");
}

void DumpSession::State::step_end(const DumpPlace& place) {
  if (!selection.wants_device(place.device)) return;
  const DumpPlace now = counted(place);
  post(Line{writer.folders().executions_file(now.rank, now.graph), std::to_string(now.iteration)});
  post(StepEnd{now});
  if (config.enable) flush();
}

Result<std::unique_ptr<DumpSession::State>> DumpSession::State::open(
    Result<DumpConfig> config, DumpOptions options, std::shared_ptr<Notices> notices) {
  if (!config) return config.error();
  if (!options.path.empty()) config->path = options.path;
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
  return Error{Code::kInvalid, "out of memory"};
}

Result<DumpSession> DumpSession::from_file(const std::string& path, DumpOptions options) try {
  auto notices = std::make_shared<Notices>(options.log);
  auto config = read_config(path, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return Error{Code::kInvalid, "out of memory"};
}

Result<DumpSession> DumpSession::from_json(std::string_view text, DumpOptions options) try {
  auto notices = std::make_shared<Notices>(options.log);
  const char* diagnostic = std::getenv("MS_DIAGNOSTIC_DATA_PATH");
  auto config = parse_config(text, diagnostic == nullptr ? "" : diagnostic, *notices, options.path);
  return open(State::open(std::move(config), std::move(options), std::move(notices)));
} catch (const std::bad_alloc&) {
  return Error{Code::kInvalid, "out of memory"};
}

Result<DumpSession> DumpSession::open(Result<std::unique_ptr<State>> state) {
  if (!state) return state.error();
  return DumpSession(*std::move(state));
}

const DumpOperator* DumpSession::operator_named(std::string_view type,
                                                std::string_view full_scope_name, bool set_dump,
                                                std::uint64_t stream_id,
                                                std::uint64_t task_id) try {
  if (state_ == nullptr) return nullptr;
  return state_->operator_named(type, full_scope_name, set_dump, stream_id, task_id);
} catch (const std::bad_alloc&) {
  return nullptr;
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed);
}

bool DumpSession::wants(const DumpPlace& place, const DumpOperator* op, Io io, bool failed) const {
  return state_ != nullptr && state_->wants(place, op, failed) && state_->selection.wants_io(io);
}

void DumpSession::collect(const DumpPlace& place, const DumpOperator* op,
                          std::span<const DumpTensor> tensors, bool failed) try {
  if (!wants(place, op, failed) || state_->is_in_fork()) return;
  state_->collect(place, op, tensors);
} catch (const std::exception&) {  // no memory even for the list of tensors
  state_->counts.lost_tensors += tensors.size();
}

void DumpSession::save_kernel_args(const DumpPlace& place, const DumpOperator* op,
                                   std::span<const std::pair<std::string, std::string>> args) try {
  if (!wants(place, op) || !state_->config.save_kernel_args || state_->is_in_fork()) return;
  nlohmann::json texts;
  for (const auto& [key, value] : args) texts[key] = value;
  const auto folder = state_->writer.folders().folder(state_->counted(place));
  state_->post(State::Text{folder + "/" + kernel_args_file_name(op->type, op->name),
                           texts.dump(4, ' ', false, nlohmann::json::error_handler_t::replace)});
} catch (const std::exception&) {
  state_->notices->warn_once("memory", "out of memory: arguments of kernels are missing");
}

void DumpSession::save_execution_order(std::uint32_t rank, std::uint32_t graph,
                                       std::span<const std::string> full_scope_names) try {
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return;
  std::string text = "NodeExecutionOrder-FullNameWithScope\n";
  for (const auto& name : full_scope_names) text += one_line(name) + '\n';
  state_->post(
      State::Text{state_->writer.folders().execution_order_file(rank, graph), std::move(text)});
} catch (const std::exception&) {
  state_->notices->warn_once("memory", "out of memory: an execution order is missing");
}

void DumpSession::step_end(const DumpPlace& place) try {
  if (state_ == nullptr || state_->closed || state_->is_in_fork()) return;
  state_->step_end(place);
} catch (const std::exception&) {
  state_->notices->warn_once("memory", "out of memory: the files of a step stay open");
}

void DumpSession::flush() {
  if (state_ != nullptr && !state_->is_in_fork()) state_->flush();
}

void DumpSession::close() {
  if (state_ != nullptr && !state_->is_in_fork()) state_->close();
}

DumpCounters DumpSession::counters() const {
  if (state_ == nullptr) return {};
  const auto& counts = state_->counts;
  const auto& written = state_->writer.counters();
  return {.operator_count = counts.operators,
          .tensor_count = counts.tensors,
          .overflow_count = counts.overflows,
          .row_count = written.rows,
          .lost_row_count = written.lost_rows,
          .file_count = written.files,
          .lost_tensor_count = counts.lost_tensors,
          .stall_count = counts.stalls,
          .stalled_us = counts.stalled_us,
          .held_bytes = state_->pool.held_bytes(),
          .most_held_bytes = state_->pool.most_held_bytes()};
}

}  // namespace tensorstat
