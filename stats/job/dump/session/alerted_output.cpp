#include "stats/job/dump/session/alerted_output.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::size_t kMostWaitingAlerts = 10'000;

}  // namespace

std::vector<Alert> AlertedOutput::take_alerts() {
  const std::lock_guard lock(mutex_);
  return std::exchange(alerts_, {});
}

void AlertedOutput::keep(std::vector<Alert> alerts) {
  if (alerts_.size() + alerts.size() > kMostWaitingAlerts) return;  // nobody ends steps
  alerts_.insert(alerts_.end(), std::move_iterator(alerts.begin()), std::move_iterator(alerts.end()));
}

RankAlerts& AlertedOutput::of_rank(std::uint32_t number) {
  auto& rank = ranks_[number];
  if (rank == nullptr) rank = std::make_unique<RankAlerts>(setup_, number);
  return *rank;
}

bool AlertedOutput::take(const PendingRun& run, const PendingTensor& tensor) {
  return of_rank(run.place.rank)
      .take(run.place.iteration, {.op = run.op,
                                  .op_type = run.op->type,
                                  .op_name = run.op->name,
                                  .data_type = data_type(tensor),
                                  .task_id = run.op->task_id,
                                  .stream_id = run.op->stream_id,
                                  .timestamp_us = tensor.timestamp_us,
                                  .slot = tensor.slot,
                                  .data_size_bytes = tensor.tensor.bytes(),
                                  .graph = run.place.graph,
                                  .is_input = tensor.io == Io::kInput,
                                  .is_constant = run.place.constants,
                                  .shape = tensor.shape,
                                  .values = tensor.statistics->values,
                                  .differs_over = tensor.differs_over});
}

void AlertedOutput::save_tensors(PendingRun& run) noexcept try {
  tensors_.save(of_rank(run.place.rank), run);
  for (const PendingTensor& tensor : run.tensors) {
    if (tensor.is_of_alert && tensor.faults != nullptr) *tensor.faults |= DumpTensor::kIsOfAlert;
  }
  std::erase_if(run.tensors, [](const PendingTensor& tensor) { return tensor.is_for_event; });
} catch (const std::exception&) {
  setup_.notices->warn_once("memory for tensors of alerts", "out of memory: tensors of an event are missing");
}

void AlertedOutput::judge(PendingRun& run) noexcept {
  const std::lock_guard lock(mutex_);
  for (PendingTensor& tensor : run.tensors) {
    if (tensor.is_for_event) continue;
    if (!tensor.statistics) {
      if (keeps_rows()) ++(is_complex(tensor.stored) ? tally_.complex : tally_.lost_tensors);
      continue;
    }
    try {
      tensor.is_of_alert = take(run, tensor);
      if (keeps_rows()) ++tally_.tensors;
    } catch (const std::exception& fault) {
      tally_.lose(1, fault.what());
    }
    tensor.statistics->categories.resize(written_columns_, Category::kMax);
    tensor.statistics->values.resize(written_columns_);
  }
  try {
    if (const auto rank = ranks_.find(run.place.rank); rank != ranks_.end()) rank->second->keep_rows();
  } catch (const std::exception& fault) {
    tally_.lose(run.tensors.size(), fault.what());
  }
  if (saves_tensors()) save_tensors(run);
  run.is_judged = true;
}

void AlertedOutput::write(std::span<PendingRun* const> runs) noexcept {
  for (PendingRun* const run : runs) {
    if (!run->is_judged) judge(*run);
  }
  if (keeps_rows()) return;
  while (!runs.empty()) {
    const auto end = std::ranges::find_if(runs, &PendingRun::is_of_event_alone);
    const auto count = static_cast<std::size_t>(end - runs.begin());
    if (count != 0) inner_->write(runs.first(count));
    runs = runs.subspan(count + (end != runs.end() ? 1 : 0));
  }
}

// msprobe's output would begin a call with tensors of an event alone.
bool AlertedOutput::admits(PendingRun& run) noexcept {
  run.is_of_event_alone =
      !run.tensors.empty() && run.layout.empty() && std::ranges::all_of(run.tensors, &PendingTensor::is_for_event);
  return run.is_of_event_alone || inner_->admits(run);
}

void AlertedOutput::end_alerts(std::uint32_t number) noexcept try {
  const std::lock_guard lock(mutex_);
  if (const auto rank = ranks_.find(number); rank != ranks_.end()) keep(rank->second->end_step());
} catch (const std::exception&) {
  setup_.notices->warn_once("memory for alerts", "out of memory: alerts of a step are missing");
}

void AlertedOutput::close() noexcept try {
  inner_->close();
  const std::lock_guard lock(mutex_);
  for (const auto& [number, rank] : ranks_) keep(rank->close());
  setup_.lines->close();
} catch (const std::exception&) {
  setup_.notices->warn_once("memory for alerts", "out of memory: alerts of a step are missing");
}

}  // namespace tensorstat
