// Runs with tensors on a board: what collect() enqueues, and how their rows keep their order.

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "stats/job/dump/session/dump_session.hpp"

namespace tensorstat {
namespace {

bool is_in_buffer(const PendingTensor& tensor) { return tensor.tensor.where == Where::kClBuffer; }
bool is_on_device(const PendingTensor& tensor) { return is_in_buffer(tensor) || is_in_gpu_memory(tensor.tensor.where); }

}  // namespace

// A tensor that is kept alive can be measured later.
bool DumpSession::State::goes_without_a_wait(const PendingRun& run) const {
  return options.ordered_by_queue && std::ranges::any_of(run.tensors, [](const PendingTensor& tensor) {
           return is_on_device(tensor) && tensor.keep_alive == nullptr;
         });
}

// Why the config or the options let nothing of this run go on a board; empty if they do.
std::string_view DumpSession::State::why_no_board(const PendingRun& run) const {
  if (options.meter.queue == nullptr && std::ranges::any_of(run.tensors, is_in_buffer)) {
    return "DumpOptions::meter has no queue";
  }
  if (config.names_host) return "stat_calc_mode is host";
  if (config.form->reads_bits(config) || !config.saves_statistics()) return "tensors are saved, or read for checksums";
  if (config.op_debug_mode == DebugMode::kOverflow) return "op_debug_mode is 3";
  if (judges_at_once()) return "tensors of alerts are saved";
  return work.meter.wants_digests() ? "digests are wanted" : "";
}

// Whether the run's tensors in device memory are measured behind the caller's work, without a wait.
bool DumpSession::State::goes_on_board(const PendingRun& run) const {
  if (!goes_without_a_wait(run)) return false;
  if (const std::string_view why = why_no_board(run); !why.empty()) {
    notices->inform_once("no board", [&] { return work.meter.waits_for_tensors(why); });
    return false;
  }
  const auto can_go = [](const PendingTensor& tensor) {
    return !is_on_device(tensor) || tensor.stored == Stored::kPlain;
  };
  if (std::ranges::all_of(run.tensors, can_go)) return true;
  notices->inform_once("packed", [&] { return work.meter.waits_for_tensors("some are complex, or packed"); });
  return false;
}

// Enqueues the folds of a run's tensors in device memory, and measures those that the caller may change at once.
bool DumpSession::State::fold_here(PendingRun& run) noexcept try {
  if (!goes_on_board(run)) return false;
  std::vector<PendingTensor*> on_board, here;
  for (PendingTensor& tensor : run.tensors) {
    if (is_on_device(tensor)) {
      on_board.push_back(&tensor);
    } else if (tensor.must_be_copied()) {
      here.push_back(&tensor);
    }
  }
  if (!work.meter.fold_on_board(on_board)) return false;
  run.is_on_board = true;
  if (options.settles_later) has_late_ = true;
  for (PendingTensor* const tensor : here) tensor->is_borrowed = true;
  work.meter.measure(here);
  return true;
} catch (const std::exception&) {  // memory is short: tensors without a ticket are handed over
  return run.is_on_board;
}

void DumpSession::State::post(DumpItem item) {
  DumpQueue::Items one;
  one.push_back(std::move(item));
  waiting.post(std::move(one), false);
}

std::vector<LateFaults> DumpSession::State::settle(bool with_this_step) {
  if (with_this_step) waiting.release();
  queue.drain();
  deliver_alerts();
  return work.take_late_faults();
}

void DumpSession::State::drain() noexcept {
  waiting.release();
  queue.drain();
}

}  // namespace tensorstat
