// The part of a dump session that runs on the thread that hands over.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>

#include "stats/core/base/joined_key.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/job/dump/session/dump_session.hpp"

namespace tensorstat {
namespace {

// Notes the facts for a rule that begins or ends with this run.
void note_bound(PendingRun& run, std::span<const DumpTensor> tensors, std::string_view layout) {
  for (const DumpTensor& given : tensors) run.given.emplace_back(given.io, given.slot);
  const auto is_result = [](const DumpTensor& given) { return given.io == Io::kOutput; };
  run.has_results = std::ranges::any_of(tensors, is_result) || layout.find("\"output\"") != layout.npos;
}

void tell_faults(PendingRun& run) {
  if (!run.is_measured) return;
  for (PendingTensor& tensor : run.tensors) {
    if (tensor.faults == nullptr || !tensor.statistics) continue;
    *tensor.faults = faults_of(*tensor.statistics);
    tensor.number = 0;
  }
}

// Drops pointers to memory that belongs to the caller again when collect() returns.
void leave_to_caller(PendingRun& run) {
  for (PendingTensor& tensor : run.tensors) {
    tensor.faults = nullptr;
    if (!run.is_measured) continue;
    tensor.tensor.address = nullptr;
    tensor.tensor.strides = nullptr;
  }
}

// As in MindSpore, on CPU and GPU nothing is written in the way that only CANN writes.
DumpConfig on_target(DumpConfig config, std::string_view device_target) {
  if (device_target != "CPU" && device_target != "GPU") return config;
  config.unknown_id = 0;
  if (config.saves_runs) {
    config.saves_runs = false;
    config.trans_flag = true;
  }
  return config;
}

}  // namespace

DumpSession::State::State(DumpConfig given_config, DumpOptions given_options, std::shared_ptr<Notices> given_notices)
    : config(on_target(std::move(given_config), given_options.device_target)),
      options(std::move(given_options)),
      notices(std::move(given_notices)),
      selection(config, options.device_target == "CPU"),
      columns(config.form->columns(config, options)),
      initial_iteration(config.initial_iteration),
      pool(options.memory_bytes),
      work(config, options, columns, notices),
      queue(work, *notices),
      waiting(queue, work.meter, options.ordered_by_queue) {}

DumpSession::State::~State() {
  close();
  queue.close();  // if the deleter of a keep_alive has closed the session, the thread still runs
}

bool DumpSession::State::wants(const DumpPlace& place, const DumpOperator* op, bool failed) const {
  if (op == nullptr || closed.load(std::memory_order_relaxed)) return false;
  note_place(place);
  if (!op->wanted) return false;
  if (config.op_debug_mode == DebugMode::kException) {
    if (!failed) return false;
    some_failed.store(true, std::memory_order_relaxed);
  }
  if (work.has_enough_overflows()) return false;
  if (!selection.wants_device(place.device)) {
    say_unlisted(place.device);
    return false;
  }
  return wants_step(counted(place));
}

void DumpSession::State::note_place(const DumpPlace& place) const noexcept {
  arrivals_.note_rank(place.rank);
  if (!selection.wants_rank(place.rank)) return;
  const DumpPlace now = counted(place);
  arrivals_.note_step(now.iteration, wants_step(now));
}

// Reports, once per device, why nothing of it is dumped.
void DumpSession::State::say_unlisted(std::uint32_t device) const noexcept {
  const std::uint64_t bit = std::uint64_t{1} << std::min<std::uint32_t>(device, 63);
  if ((unlisted_devices_.load(std::memory_order_relaxed) & bit) != 0 || is_in_fork()) return;
  if ((unlisted_devices_.fetch_or(bit) & bit) != 0) return;
  char key[32];
  std::snprintf(key, sizeof key, "device %u", static_cast<unsigned>(device));
  notices->warn_once(key, [&] {
    std::string listed;
    for (const std::uint32_t each : *config.support_device) {
      listed += (listed.empty() ? "" : ", ") + std::to_string(each);
    }
    return "nothing of device " + std::to_string(device) + " is dumped: support_device lists " +
           (listed.empty() ? "no device" : shown(listed, 200));
  });
}

const DumpOperator* DumpSession::State::operator_named(std::string_view type, std::string_view name, bool set_dump,
                                                       std::optional<std::uint64_t> given_stream_id,
                                                       std::optional<std::uint64_t> given_task_id) {
  const std::uint64_t stream_id = given_stream_id.value_or(config.unknown_id);
  const std::uint64_t task_id = given_task_id.value_or(config.unknown_id);
  std::string key = joined_key(type, name);
  for (const std::uint64_t number : {std::uint64_t{set_dump}, stream_id, task_id}) append_key(key, number);
  const std::lock_guard lock(operators_mutex_);
  auto& op = operators_[std::move(key)];
  if (op == nullptr) {
    auto made = std::make_unique<DumpOperator>();
    made->type = one_line(type);
    made->name = one_line(name);
    made->stream_id = stream_id;
    made->task_id = task_id;
    made->has_ids = given_stream_id || given_task_id;
    made->set_dump = set_dump;
    const AskedOperator asked{type, name, set_dump, options.names_are_escaped};
    const bool is_dumped = selection.wants_operator(asked);
    made->is_bound = config.operators != nullptr && config.operators->bounds(asked);
    made->has_every_io = config.operators != nullptr && config.operators->has_every_io(asked);
    made->is_only_seen = made->is_bound && !is_dumped;
    made->wanted = (type == kSavedType) == config.takes_saved && (is_dumped || made->is_bound);
    op = std::move(made);  // insert only when complete: a half-made entry would be found later with wanted == false
  }
  return op.get();
}

// Whether the config wants what runs inside of a call around this operator. Sets `last` to the outermost known call.
bool DumpSession::State::is_inside(const DumpOperator& op, std::string& last) const {
  constexpr int kMostLevels = 64;
  auto parent = parents_.find(op.name);
  for (int level = 0; level < kMostLevels && parent != parents_.end() && !parent->second.empty(); ++level) {
    last = parent->second;
    if (config.operators->wants_inside({op.type, op.name, op.set_dump, options.names_are_escaped}, last)) return true;
    parent = parents_.find(last);
  }
  return false;
}

// A call may be described before its parent. Then it is checked again when the parent is described.
void DumpSession::State::describe(const DumpOperator* op, std::string_view parent) {
  if (config.operators == nullptr || !config.operators->looks_inside()) return;
  const std::lock_guard lock(operators_mutex_);
  parents_.insert_or_assign(op->name, std::string(parent));
  std::vector<DumpOperator*> asked;
  if (const auto waiting = waiting_.find(op->name); waiting != waiting_.end()) {
    asked = std::move(waiting->second);
    waiting_.erase(waiting);
  }
  asked.push_back(const_cast<DumpOperator*>(op));  // the session made it, and gave it away as const
  for (DumpOperator* each : asked) {
    std::string last;
    if (is_inside(*each, last)) {
      each->is_inside = true;
      each->is_only_seen = false;
      each->wanted = true;
    } else if (!last.empty()) {
      waiting_[last].push_back(each);
    }
  }
}

bool DumpSession::State::has_lost_or_waits() const {
  const DumpOutput::Written written = work.output->written();
  return written.waiting_rows + written.lost_rows + written.other_waiting + written.other_lost +
             work.tally.lost_tensors !=
         0;
}

void DumpSession::State::hold_all(std::span<const DumpTensor> tensors, PendingRun& run) noexcept {
  for (const DumpTensor& given : tensors) {
    arrivals_.note_tensor(given.io);
    const bool is_wanted = run.op->has_every_io || selection.wants_io(given.io);
    const bool is_for_event = given.is_for_event || (!is_wanted && given.io == Io::kInput);
    if (is_for_event ? !judges_at_once() : !is_wanted) continue;
    try {
      auto tensor = hold(given, !config.trans_flag);
      if (tensor) tensor->is_for_event = is_for_event;
      if (tensor && tensor->differs_over) alerts.has_compared = true;
      if (!tensor) {
        ++work.tally.lost_tensors;
        notices->warn_once("refused",
                           [&] { return "a tensor of " + run.op->name + " is refused: " + tensor.error().message; });
      } else if (tensor->value_count == 0 && !config.form->has_empty_tensors()) {
        notices->inform_once("empty", [&] { return "empty tensors are not dumped; the first is of " + run.op->name; });
      } else {
        // Overflow is decided on the whole tensor; it is cut afterwards.
        const bool is_judged = config.op_debug_mode == DebugMode::kOverflow && DumpMeter::looks_at(*tensor);
        if (!is_judged && !is_for_event) take_sample(*tensor, work.sample_num());
        if (given.is_in_format && config.trans_flag && config.saves_tensors()) {
          notices->warn_once("format", [&] {
            return "tensors are in a device's format and are written as they are, with its name, though trans_flag is "
                   "true; the first is of " +
                   run.op->name + ": " + tensor->format;
          });
        }
        tensor->timestamp_us = given.timestamp_us != 0 ? given.timestamp_us : next_timestamp_us();
        run.tensors.push_back(*std::move(tensor));
      }
    } catch (const std::exception& fault) {
      work.tally.lose(1, fault.what());
    }
  }
}

// Unique within the session, because file names distinguish tensors by it.
std::uint64_t DumpSession::State::next_timestamp_us() {
  using std::chrono::microseconds;
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now = static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(since_epoch).count());
  std::uint64_t last = last_timestamp_us_.load();
  std::uint64_t mine = 0;
  do {
    mine = std::max(now, last + 1);
  } while (!last_timestamp_us_.compare_exchange_weak(last, mine));
  return mine;
}

void DumpSession::State::collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors,
                                 std::string_view layout) {
  PendingRun run;
  run.place = counted(place);
  run.op = op;
  if (!op->is_only_seen) hold_all(tensors, run);
  if (!config.form->has_layouts()) layout = {};
  if (run.tensors.empty() && layout.empty() && !op->is_bound) return;
  try {
    if (op->is_bound) note_bound(run, tensors, layout);
    if (!op->is_only_seen) run.layout = layout;
    if (add_to_graph(run)) return;
  } catch (const std::bad_alloc&) {
    return work.tally.lose(run.tensors.size());
  }
  const auto is_for_event = [](const PendingTensor& tensor) { return tensor.is_for_event; };
  const bool has_layout = !layout.empty() && !op->is_only_seen;
  work.tally.operators += !has_layout && std::ranges::all_of(run.tensors, is_for_event) ? 0 : 1;
  const std::size_t count = run.tensors.size();
  DumpQueue::Items one;
  try {
    if (!fold_here(run)) measure_here(run);
    tell_faults(run);
    judge_here(run);
    if (run.is_judged || !judges_at_once()) leave_to_caller(run);
    one.emplace_back(std::move(run));
  } catch (const std::bad_alloc&) {
    return work.tally.lose(count);
  }
  hand_over(std::move(one));
  // The framework is about to abort: the data must be on disk before that.
  if (config.op_debug_mode == DebugMode::kException) flush();
}

// Measures a run at once if only statistics are wanted and every tensor would have to be copied. Digests and devices
// are left to the session's thread: a digest takes many times as long as a copy, and a device should get many tensors
// at a time. A GPU with the tensors in its memory is faster than copies of them. If the caller allows no memory for
// copies, these are measured here, too.
void DumpSession::State::measure_here(PendingRun& run) noexcept try {
  if (config.form->reads_bits(config) || config.op_debug_mode == DebugMode::kOverflow) return;
  const bool are_on_gpus = std::ranges::all_of(
      run.tensors, [](const PendingTensor& tensor) { return is_in_gpu_memory(tensor.tensor.where); });
  const bool is_left = (config.on_device && !are_on_gpus) || work.meter.wants_digests();
  if (options.memory_bytes != 0 && is_left) return;
  std::vector<PendingTensor*> tensors;
  for (PendingTensor& tensor : run.tensors) {
    if (tensor.is_for_event) continue;
    if (!tensor.must_be_copied() || (tensor.tensor.strides != nullptr && work.sample_num() != 0)) return;
    tensors.push_back(&tensor);
  }
  for (PendingTensor& tensor : run.tensors) tensor.is_borrowed = true;
  const bool waits = goes_without_a_wait(run);
  const auto start = waits ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  work.meter.measure(tensors);
  run.is_measured = true;
  if (waits) count_stall(start);
} catch (const std::exception&) {  // memory is short: hand the run over
}

void DumpSession::State::count_stall(std::chrono::steady_clock::time_point start) noexcept {
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  ++work.tally.stalls;
  work.tally.stalled_us += static_cast<std::uint64_t>(took.count());
}

// An output that may refuse a run does so in the order of the queue.
void DumpSession::State::judge_here(PendingRun& run) noexcept {
  if (alerts.output == nullptr) return;
  if (run.is_measured && !config.form->refuses_runs() && !has_late_) return alerts.output->judge(run);
  if (!judges_at_once()) alerts.has_unjudged = true;
}

void DumpSession::State::hand_over(DumpQueue::Items one) noexcept {
  constexpr std::size_t kAlignment = 64;
  PendingRun& run = std::get<PendingRun>(one.front());
  const bool is_judged_later = judges_at_once() && !run.is_judged;
  const bool is_empty = run.tensors.empty() && run.layout.empty();  // its tensors were for an event alone
  if (run.is_judged && ((is_empty && !run.op->is_bound) || alerts.output->keeps_rows())) return;
  if (run.is_measured && !is_judged_later) {
    if (is_behind()) drain();
    return waiting.post(std::move(one), false);
  }
  std::size_t copied_bytes = 0;
  std::uint64_t other_bytes = sizeof run + run.tensors.size() * sizeof(PendingTensor);
  bool may_wait = !is_judged_later;
  for (const PendingTensor& tensor : run.tensors) {
    if (tensor.must_be_copied()) {
      copied_bytes += (tensor.tensor.bytes() + kAlignment - 1) / kAlignment * kAlignment;
    } else if (!tensor.statistics && (!tensor.ticket || tensor.keep_alive != nullptr)) {
      other_bytes += tensor.tensor.bytes();
      may_wait &= tensor.keep_alive != nullptr;
    }
  }
  if (may_wait) run.buffer = pool.take(copied_bytes, other_bytes);
  const auto start = std::chrono::steady_clock::now();
  if (run.buffer) {
    const bool is_on_board = run.is_on_board;
    const bool waits = !is_on_board && goes_without_a_wait(run);
    copy_all(run, kAlignment);
    if (waits) count_stall(start);
    waiting.post(std::move(one), is_on_board);
    return;
  }
  drain();  // keeps the rows in the order of hand-over
  if (!run.is_measured) copy_strided(run);
  for (PendingTensor& tensor : run.tensors) tensor.is_borrowed = tensor.must_be_copied();
  queue.work_now(one);
  if (!may_wait && !options.ordered_by_queue) return;
  count_stall(start);
  if (!may_wait || options.memory_bytes == 0) return;  // said elsewhere; the caller chose to wait
  const std::uint64_t wanted = copied_bytes + other_bytes;
  if (wanted > options.memory_bytes) {
    notices->warn_once("stall for a large one", [&] {
      return "training waits while the tensors of " + run.op->name + " are dumped: they take " +
             std::to_string(wanted) + " bytes, more than the " + std::to_string(options.memory_bytes) +
             " of memory_bytes";
    });
  } else {
    notices->warn_once("stall", [&] {
      return "tensors come faster than they are dumped: the " + std::to_string(options.memory_bytes) +
             " bytes of memory_bytes are full, or the system has no more memory: training waits";
    });
  }
}

// Whether more measured tensors wait than allowed. memory_bytes does not count these; each takes less than a KiB.
bool DumpSession::State::is_behind() noexcept {
  constexpr std::uint64_t kMostMeasured = 4096;
  return queue.unfinished() + waiting.count() >= kMostMeasured;
}

void DumpSession::State::copy_all(PendingRun& run, std::size_t alignment) noexcept {
  std::byte* to = run.buffer.data();
  std::erase_if(run.tensors, [&](PendingTensor& tensor) {
    if (!tensor.must_be_copied()) return false;
    const std::size_t size = tensor.tensor.bytes();
    const Status copied = work.meter.copy(tensor.tensor, {to, size});
    to += (size + alignment - 1) / alignment * alignment;
    if (!copied) work.tally.lose(1, copied.error().message.c_str());
    return !copied;
  });
}

void DumpSession::State::copy_strided(PendingRun& run) noexcept {
  std::erase_if(run.tensors, [&](PendingTensor& tensor) {
    if (tensor.tensor.strides == nullptr) return false;
    try {
      auto bits = std::make_shared<std::vector<std::byte>>(tensor.tensor.bytes());
      const Status copied = work.meter.copy(tensor.tensor, *bits);
      if (!copied) work.tally.lose(1, copied.error().message.c_str());
      tensor.keep_alive = std::move(bits);
      return !copied;
    } catch (const std::exception& fault) {
      work.tally.lose(1, fault.what());
      return true;
    }
  });
}

}  // namespace tensorstat
