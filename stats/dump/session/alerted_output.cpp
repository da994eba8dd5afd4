#include "stats/dump/session/alerted_output.hpp"

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
  const std::lock_guard lock(mutex_);
  if (alerts_.size() + alerts.size() > kMostWaitingAlerts) return;  // nobody ends steps
  alerts_.insert(alerts_.end(), std::move_iterator(alerts.begin()), std::move_iterator(alerts.end()));
}

void AlertedOutput::take(const PendingRun& run, const PendingTensor& tensor) {
  auto& rank = ranks_[run.place.rank];
  if (rank == nullptr) rank = std::make_unique<RankAlerts>(setup_, run.place.rank);
  rank->take(run.place.iteration, {.op = run.op,
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
                                   .values = tensor.found->values});
}

void AlertedOutput::write(std::span<PendingRun* const> runs) noexcept {
  for (PendingRun* const run : runs) {
    for (PendingTensor& tensor : run->tensors) {
      if (!tensor.found) {
        if (setup_.options.keep_steps != 0) ++(is_complex(tensor.stored) ? tally_.complex : tally_.lost_tensors);
        continue;
      }
      try {
        take(*run, tensor);
        if (setup_.options.keep_steps != 0) ++tally_.tensors;
      } catch (const std::exception& fault) {
        tally_.lose(1, fault.what());
      }
      tensor.found->categories.resize(written_columns_, Category::kMax);
      tensor.found->values.resize(written_columns_);
    }
  }
  if (setup_.options.keep_steps == 0) inner_->write(runs);
}

void AlertedOutput::end_step(const DumpPlace& place) noexcept try {
  inner_->end_step(place);
  if (const auto rank = ranks_.find(place.rank); rank != ranks_.end()) keep(rank->second->end_step());
} catch (const std::exception&) {
  setup_.notices->warn_once("memory for alerts", "out of memory: alerts of a step are missing");
}

void AlertedOutput::close() noexcept try {
  inner_->close();
  for (const auto& [number, rank] : ranks_) keep(rank->close());
  setup_.lines->close();
} catch (const std::exception&) {
  setup_.notices->warn_once("memory for alerts", "out of memory: alerts of a step are missing");
}

}  // namespace tensorstat
