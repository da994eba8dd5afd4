#include "stats/job/dump/session/dump_work.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "stats/core/base/abandon.hpp"

namespace tensorstat {
namespace {

// Runs that are measured in one request.
constexpr std::size_t kMostRuns = 64;

}  // namespace

DumpWork::DumpWork(const DumpConfig& config, const DumpOptions& options, const Categories& columns,
                   const std::shared_ptr<Notices>& notices)
    : meter(config, columns, options.meter, notices),
      tally(notices),
      output(config.form->open({config, options, columns, notices, meter, tally})),
      config_(config),
      options_(options),
      notices_(notices) {}

DumpWork::~DumpWork() {
  if (!in_use_->empty()) abandon(std::move(in_use_));
}

AlertedOutput& DumpWork::set_alerts(AlertSetup setup, const Categories& more) {
  const std::size_t written = setup.about.categories.size() - more.size();
  meter.also_measure(more);
  if (auto* const before = dynamic_cast<AlertedOutput*>(output.get())) output = before->take_inner();
  auto alerted =
      std::make_unique<AlertedOutput>(std::move(output), std::move(setup), written, meter, tally, options_.sync);
  AlertedOutput& made = *alerted;
  output = std::move(alerted);
  return made;
}

bool DumpWork::runs_callers_code(const DumpItem& item) const noexcept {
  const auto* run = std::get_if<PendingRun>(&item);
  const auto is_kept = [](const PendingTensor& tensor) { return tensor.keep_alive != nullptr; };
  return run != nullptr && std::ranges::any_of(run->tensors, is_kept);
}

void DumpWork::work_on(DumpQueue::Items& items) noexcept {
  std::array<PendingRun*, kMostRuns> runs;
  std::size_t count = 0;
  auto first = items.begin();  // the first of the current runs
  for (auto next = items.begin(); next != items.end();) {
    const auto item = next++;
    if (auto* run = std::get_if<PendingRun>(&*item)) {
      if (count == 0) first = item;
      runs[count++] = run;
      if (next != items.end() && count < kMostRuns && std::holds_alternative<PendingRun>(*next)) continue;
      dump({runs.data(), count});
      if (meter.left_in_use()) {
        in_use_->splice(in_use_->end(), items, first, next);
      } else {
        for (PendingRun* const done : std::span(runs.data(), count)) done->buffer = {};
      }
      count = 0;
    } else {
      std::get<DumpErrand> (*item)(*output);
    }
  }
}

// Whether the output admits this run and, in overflow dumps, whether its operator overflows. Called in order, so that
// the first overflow_number overflows are the ones dumped.
bool DumpWork::is_to_be_dumped(PendingRun& run) noexcept {
  if (config_.op_debug_mode != DebugMode::kOverflow) return output->admits(run);
  if (enough_overflows_) return false;
  try {
    if (!meter.overflows(run)) return false;
  } catch (const std::exception&) {  // when in doubt, dump it
  }
  const std::uint64_t count = ++tally.overflows;
  if (config_.overflow_number != 0 && count >= config_.overflow_number) enough_overflows_ = true;
  return output->admits(run);
}

bool DumpWork::measure(std::span<PendingRun* const> runs) noexcept try {
  std::vector<PendingTensor*> tensors;
  for (PendingRun* run : runs) {
    if (run->is_measured) continue;
    for (PendingTensor& tensor : run->tensors) {
      if (tensor.is_for_event) continue;
      take_sample(tensor, sample_num());
      tensors.push_back(&tensor);
    }
  }
  if (config_.saves_statistics()) meter.measure(tensors);
  return true;
} catch (const std::exception& fault) {
  if (runs.size() == 1) tally.lose(runs.front()->tensors.size(), fault.what());
  return false;
}

std::vector<LateFaults> DumpWork::take_late_faults() {
  const std::lock_guard lock(late_mutex_);
  return std::exchange(late_, {});
}

void DumpWork::keep_faults(std::span<PendingRun* const> runs) noexcept try {
  const std::lock_guard lock(late_mutex_);
  for (const PendingRun* const run : runs) {
    for (const PendingTensor& tensor : run->tensors) {
      if (tensor.number != 0) late_.push_back({tensor.number, tensor.statistics ? faults_of(*tensor.statistics) : 0});
    }
  }
} catch (const std::exception&) {
  notices_->warn_once("memory for faults", "out of memory: NaN and Inf of some tensors are not told to the caller");
}

void DumpWork::dump(std::span<PendingRun*> runs) noexcept {
  const auto end = std::remove_if(runs.begin(), runs.end(), [&](PendingRun* run) { return !is_to_be_dumped(*run); });
  write_all(runs.first(static_cast<std::size_t>(end - runs.begin())));
}

void DumpWork::write_all(std::span<PendingRun*> runs) noexcept {
  if (!measure(runs)) {  // memory is short: try the runs one by one
    for (std::size_t i = 0; runs.size() > 1 && i < runs.size(); ++i) write_all(runs.subspan(i, 1));
    return;
  }
  keep_faults(runs);
  output->write(runs);
}

}  // namespace tensorstat
