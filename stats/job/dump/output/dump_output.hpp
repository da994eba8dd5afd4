// Writes a dump to disk: one implementation for each framework's files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/notices.hpp"
#include "stats/job/dump/config/dump_config.hpp"
#include "stats/job/dump/session/dump_tally.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

class DumpMeter;

// The objects that an output uses. All of them must outlive the output.
struct OutputContext {
  const DumpConfig& config;
  const DumpOptions& options;
  const Categories& columns;  // from OutputForm::columns(); may contain a category twice
  const std::shared_ptr<Notices>& notices;
  DumpMeter& dump_meter;  // reads the bits of tensors
  DumpTally& tally;
};

// The promises of every form: data that flush() acknowledged survive `kill -9`. A file of lines ends with a complete
// line; any other file is complete or absent. No error stops the job or throws; each is counted, and reported once.
// Memory is bounded.
//
// All functions but written() are called by one thread at a time, in the order of hand-over, under a lock of the
// session. So no code of the caller may be called from here.
class DumpOutput {
 public:
  virtual ~DumpOutput() = default;

  // Whether rows of runs are kept elsewhere: then write() is not called, and no file of a run is made. Called before
  // the other functions.
  virtual void forgo_runs(bool) noexcept {}

  // Whether this run is dumped. Called for each run, in order. For rules about runs instead of operators. May set the
  // run's `call`.
  virtual bool admits(PendingRun&) noexcept { return true; }

  // Writes runs and the statistics of their tensors, and counts each tensor as done or lost.
  virtual void write(std::span<PendingRun* const> runs) noexcept = 0;

  // The caller's description of an operator: its stack frames, and the operator or module that contains it ("" if
  // none). Called before the operator's runs.
  virtual void describe(const DumpOperator&, std::span<const std::string>, std::string_view) noexcept {}
  // The model of a graph, with / \ . and space replaced by _. Called before the graph's runs.
  virtual void name_graph(std::uint32_t, std::string_view) noexcept {}
  // The arguments of an operator: a JSON object of texts. Called if the config has save_kernel_args.
  virtual void save_kernel_args(const DumpPlace&, const DumpOperator&, std::string_view) noexcept {}
  // The operators of a graph in the order of their execution, one per line.
  virtual void save_execution_order(std::uint32_t, std::uint32_t, std::string_view) noexcept {}
  // An iteration of this rank and graph has ended, whether it was wanted or not.
  virtual void note_step(std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}

  // A wanted iteration has ended: complete its files.
  virtual void end_step(const DumpPlace&) noexcept {}
  // Then close them. Separate from end_step(), because nobody waits for this.
  virtual void close_step(const DumpPlace&) noexcept {}
  // Retries all that waits.
  virtual void flush() noexcept = 0;
  // The last retry: what cannot be written is lost, counted and reported.
  virtual void close() noexcept = 0;

  // Why none of the runs that came was admitted: "the scope begins with X, which did not come". Empty if unknown.
  virtual std::string why_nothing() const { return {}; }

  // Callable from any thread, without a lock. A row describes one tensor.
  struct Written {
    std::uint64_t rows = 0, waiting_rows = 0, lost_rows = 0;
    std::uint64_t other_waiting = 0, other_lost = 0;  // lines and files other than rows and tensors
    std::uint64_t tensor_files = 0;
  };
  virtual Written written() const noexcept = 0;
};

// A kind of output, with its requirements.
class OutputForm {
 public:
  virtual ~OutputForm() = default;

  // The statistics to measure for each tensor, in the order of PendingTensor::found.
  virtual Categories columns(const DumpConfig& config, const DumpOptions& options) const = 0;
  // Whether the output writes anything about tensors without elements.
  virtual bool has_empty_tensors() const { return false; }
  // Whether write() reads the bits of tensors. If not, a run may be measured before admits() is called.
  virtual bool reads_bits(const DumpConfig& config) const { return config.saves_tensors() || config.saves_runs; }
  // Whether admits() may refuse a run.
  virtual bool refuses_runs() const { return false; }
  // Whether the output uses the layout of calls.
  virtual bool has_layouts() const { return false; }
  virtual std::unique_ptr<DumpOutput> open(const OutputContext& context) const = 0;

  // The folder for this place; nullopt if each dump makes a new folder. Used before a dump, to find earlier files.
  virtual std::optional<std::string> folder(const DumpConfig& config, const DumpOptions& options,
                                            const DumpPlace& place) const = 0;
  // The folder for files that belong to a rank and to no iteration.
  virtual std::string rank_folder(const DumpConfig& config, std::uint32_t) const { return config.path; }
  // The subfolder of folder() for tensors; "": they lie in folder() itself.
  virtual std::string tensor_folder() const { return ""; }
  // The file in folder() that holds rows: "statistic.csv".
  virtual std::string rows_file() const = 0;
  // Whether a later dump can append to rows_file().
  virtual bool can_append() const { return true; }
};

}  // namespace tensorstat
