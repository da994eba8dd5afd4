// Gives each row to the alerts, then to the dump's output. With keep_steps the rows stay in the ring and are not
// written.
//
// A run that is measured when it is handed over is judged there: that takes less than to write its rows, and a step can
// end while these are still written. Any other run is judged before it is written.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tensorstat/alerts.hpp>
#include <vector>

#include "stats/job/alerts/rank_alerts.hpp"
#include "stats/job/dump/output/dump_output.hpp"
#include "stats/job/dump/session/event_tensors.hpp"

namespace tensorstat {

class AlertedOutput final : public DumpOutput {
 public:
  // `written_columns`: the first of the statistics that are measured; those behind them are only for the rules. The
  // references must outlive this.
  AlertedOutput(std::unique_ptr<DumpOutput> inner, AlertSetup setup, std::size_t written_columns, DumpMeter& meter,
                DumpTally& tally, Sync sync)
      : inner_(std::move(inner)),
        setup_(std::move(setup)),
        written_columns_(written_columns),
        tally_(tally),
        tensors_(meter, tally, setup_.notices, sync) {
    inner_->forgo_runs(keeps_rows());
  }

  std::unique_ptr<DumpOutput> take_inner() { return std::move(inner_); }
  // Whether a run has to be judged while its tensors are there.
  bool saves_tensors() const { return setup_.options.save_tensors && !setup_.rules.empty(); }
  bool keeps_rows() const { return setup_.options.keep_steps != 0; }

  // Judges the rows of a measured run, and saves tensors of an alert. Callable from any thread, as end_alerts() is.
  void judge(PendingRun& run) noexcept;
  // All runs of the rank's step are judged.
  void end_alerts(std::uint32_t rank) noexcept;
  // The alerts since the last call. Callable from any thread.
  std::vector<Alert> take_alerts();

  std::string why_nothing() const override { return inner_->why_nothing(); }
  bool admits(PendingRun& run) noexcept override;
  void write(std::span<PendingRun* const> runs) noexcept override;
  void describe(const DumpOperator& op, std::span<const std::string> stack, std::string_view parent) noexcept override {
    inner_->describe(op, stack, parent);
  }
  void name_graph(std::uint32_t graph, std::string_view model) noexcept override { inner_->name_graph(graph, model); }
  void save_kernel_args(const DumpPlace& place, const DumpOperator& op, std::string_view json) noexcept override {
    inner_->save_kernel_args(place, op, json);
  }
  void save_execution_order(std::uint32_t rank, std::uint32_t graph, std::string_view names) noexcept override {
    inner_->save_execution_order(rank, graph, names);
  }
  void note_step(std::uint32_t rank, std::uint32_t graph, std::uint64_t iteration) noexcept override {
    if (!keeps_rows()) inner_->note_step(rank, graph, iteration);
  }
  void end_step(const DumpPlace& place) noexcept override { inner_->end_step(place); }
  void close_step(const DumpPlace& place) noexcept override { inner_->close_step(place); }
  void flush() noexcept override { inner_->flush(); }
  void close() noexcept override;
  Written written() const noexcept override { return inner_->written(); }

 private:
  // These are called with the lock.
  RankAlerts& of_rank(std::uint32_t rank);
  bool take(const PendingRun& run, const PendingTensor& tensor);
  void save_tensors(PendingRun& run) noexcept;
  void keep(std::vector<Alert> alerts);

  std::unique_ptr<DumpOutput> inner_;
  AlertSetup setup_;
  const std::size_t written_columns_;
  DumpTally& tally_;
  std::mutex mutex_;
  EventTensors tensors_;
  std::map<std::uint32_t, std::unique_ptr<RankAlerts>> ranks_;
  std::vector<Alert> alerts_;
};

}  // namespace tensorstat
