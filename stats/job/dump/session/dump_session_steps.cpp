// The end of steps and of a dump session: what ended is recorded, waited for and reported.

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/job/dump/session/dump_session.hpp"

namespace tensorstat {

// Records the iterations that have ended, this one last.
void DumpSession::State::record(const DumpPlace* step) noexcept try {
  const std::lock_guard lock(ended_steps_mutex_);
  if (step == nullptr && ended_steps_.is_empty()) return;
  std::vector<EndedSteps::Step> ended;
  ended.reserve(EndedSteps::kMost + 1);  // reserve first: drain() below forgets the steps that it passes on
  ended_steps_.drain([&](const EndedSteps::Step& each) { ended.push_back(each); });
  if (step != nullptr) ended.push_back({step->rank, step->graph, step->iteration});
  post([ended = std::move(ended)](DumpOutput& to) {
    for (const auto& each : ended) to.note_step(each.rank, each.graph, each.iteration);
  });
} catch (const std::exception&) {
  notices->warn_once("memory for steps", "out of memory: the number of an iteration is missing");
}

bool DumpSession::State::step_end(const DumpPlace& place) {
  note_place(place);
  if (!selection.wants_device(place.device) || !selection.wants_rank(place.rank)) return true;
  const DumpPlace now = counted(place);
  const bool is_wanted = wants_step(now);
  const bool lets_wait = waiting.count() != 0;  // runs from before stop()
  if (!is_wanted && !lets_wait && ended_steps_.push({now.rank, now.graph, now.iteration})) return true;
  if (is_in_fork()) return true;
  const Notices::Hold hold(*notices);
  record(&now);
  if (!is_wanted) {
    waiting.release();
    return true;
  }
  bool is_whole = true;
  const bool settles_later = has_late_;
  try {
    post([now](DumpOutput& to) { to.end_step(now); });
    if (alerts.output != nullptr && settles_later) {
      post([this, now](DumpOutput&) { alerts.output->end_alerts(now.rank); });
    } else if (alerts.output != nullptr) {  // the caller wants to know before the next step
      if (alerts.has_unjudged.exchange(false)) drain();
      alerts.output->end_alerts(now.rank);
    }
    is_whole = settles_later || !config.enable || flush();
    post([now](DumpOutput& to) { to.close_step(now); });
  } catch (const std::bad_alloc&) {
    notices->warn_once("memory for closing", "out of memory: the files of a step stay open");
  }
  waiting.release();
  if (!settles_later) deliver_alerts();
  return is_whole;
}

bool DumpSession::State::flush() {
  record(nullptr);
  drain();
  queue.between_work([&] { work.output->flush(); });
  return !has_lost_or_waits();
}

// Reports what the config wants and never came.
void DumpSession::State::say_what_never_came() noexcept {
  {
    const std::lock_guard lock(operators_mutex_);
    if (operators_.empty()) return;
  }
  if (!alerts.groups.empty() && !alerts.has_compared) {
    notices->warn_once("no replicas", [&] {
      return "alerts: 'differs over " + alerts.groups.front() + "' was never met: no replicas were compared";
    });
  }
  if (config.op_debug_mode == DebugMode::kException && !some_failed) {
    notices->warn_once("none failed",
                       "the config dumps operators that failed, and the backend said of none that it did");
  }
  if (config.save_kernel_args && !has_kernel_args) {
    notices->warn_once("no arguments", "save_kernel_args is true, but the backend handed over no arguments of kernels");
  }
}

std::string DumpSession::State::why_nothing() {
  if (config.iteration.ranges().empty()) return {};  // said when it was read
  if (config.takes_saved && arrivals_.is_any()) return "level \"debug\" dumps what save() is given, and nothing came";
  if (std::string why = arrivals_.why_nothing(config); !why.empty()) return why;
  if (config.op_debug_mode == DebugMode::kException) return {};  // said by itself
  const std::lock_guard lock(operators_mutex_);
  if (operators_.empty()) return {};
  // An operator for which memory did not suffice is null.
  const auto is_wanted = [](const auto& each) {
    return each.second == nullptr || (each.second->wanted && !each.second->is_only_seen);
  };
  if (std::ranges::none_of(operators_, is_wanted)) {
    if (config.operators == nullptr || !config.operators->unused().empty()) return {};  // each entry is said
    const std::size_t count = operators_.size();
    return "none of the " + std::to_string(count) + " operators that came is selected by " +
           config.operators->condition() + ", such as " + printable_name(operators_.begin()->second->name);
  }
  if (!arrivals_.has_tensors()) return {};
  if (config.op_debug_mode == DebugMode::kOverflow) return config.keys.overflow + ", and no operator overflowed";
  return work.output->why_nothing();
}

// Says why a session to which something came leaves no tensor.
void DumpSession::State::say_nothing_came() noexcept {
  const DumpTally& tally = work.tally;
  const DumpOutput::Written written = work.output->written();
  if (written.rows + written.waiting_rows + written.lost_rows + written.tensor_files != 0 || has_lost_or_waits())
    return;
  if (tally.tensors + tally.complex + tally.overflows != 0 || (alerts.output != nullptr && alerts.output->keeps_rows()))
    return;
  try {
    const std::string why = why_nothing();
    if (!why.empty()) notices->warn_once("nothing", [&] { return "nothing was dumped: " + why; });
  } catch (const std::bad_alloc&) {  // the report is optional
  }
}

bool DumpSession::State::close() {
  if (closed.exchange(true)) return !has_lost_or_waits();
  const Notices::Hold hold(*notices);
  record(nullptr);
  waiting.close();
  queue.close();
  say_what_never_came();
  say_nothing_came();
  queue.between_work([&] { work.output->close(); });
  deliver_alerts();
  if (config.operators != nullptr) {
    try {
      for (const std::string& entry : config.operators->unused()) {
        notices->warn([&] { return "no operator matched " + entry; });
      }
    } catch (const std::bad_alloc&) {  // the report is optional
    }
  }
  return !has_lost_or_waits();
}

}  // namespace tensorstat
