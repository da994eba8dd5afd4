// What a dump leaves on disk: one implementation for each framework whose files are written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/rows.hpp>

#include "stats/dump/config/dump_config.hpp"
#include "stats/dump/session/dump_tally.hpp"
#include "stats/dump/session/pending_run.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

class Examiner;

// What an output works with. All of it outlives the output.
struct OutputContext {
  const DumpConfig& config;
  const DumpOptions& options;
  const Categories& columns;  // what OutputForm::columns() said; one may be there twice
  const std::shared_ptr<Notices>& notices;
  Examiner& examiner;  // for the bits of tensors
  DumpTally& tally;
};

// The promises of every form: what flush() acknowledges survives `kill -9`, and each file is whole lines, or as a whole
// there or not. No fault ends the job or throws; each is counted, and said once. Memory is bounded.
//
// All but written() is called by one thread at a time, in the order of hand-over, and under a lock of the session: no
// code of the caller's may be called from here.
class DumpOutput {
 public:
  virtual ~DumpOutput() = default;

  // Whether this run, the next one in order, is dumped; asked of each in order. For what a config says of
  // runs, and not of operators. May set the run's `call`.
  virtual bool admits(PendingRun&) noexcept { return true; }

  // Puts runs on disk, with what was found of each tensor, and counts tensors as done or lost.
  virtual void write(std::span<PendingRun* const> runs) noexcept = 0;

  // What the caller says of an operator: the frames of the stack that it comes from, and the operator or module that it
  // is a part of, "" where there is none. Asked before its runs.
  virtual void describe(const DumpOperator&, std::span<const std::string>, std::string_view) noexcept {}
  // The arguments of an operator: a JSON object of texts. Asked for by save_kernel_args of the config.
  virtual void save_kernel_args(const DumpPlace&, const DumpOperator&, std::string_view) noexcept {}
  // The operators of a graph in the order of their execution, each in a line.
  virtual void save_execution_order(std::uint32_t, std::uint32_t, std::string_view) noexcept {}
  // An iteration of this rank and graph is over, wanted or not.
  virtual void note_step(std::uint32_t, std::uint32_t, std::uint64_t) noexcept {}

  // A wanted iteration is over: its files are completed.
  virtual void end_step(const DumpPlace&) noexcept {}
  // And then closed. Apart from the former, because nobody waits for what the disk takes to that.
  virtual void close_step(const DumpPlace&) noexcept {}
  // Tries all that waits.
  virtual void flush() noexcept = 0;
  // As the last try: what cannot be written is lost, counted and said.
  virtual void close() noexcept = 0;

  // Any thread, without a lock. Rows: what is said of one tensor.
  struct Written {
    std::uint64_t rows = 0, waiting_rows = 0, lost_rows = 0;
    std::uint64_t other_waiting = 0, other_lost = 0;  // lines and files beside rows and tensors
    std::uint64_t tensor_files = 0;
  };
  virtual Written written() const noexcept = 0;
};

// A kind of output, with what its config asks of it.
class OutputForm {
 public:
  virtual ~OutputForm() = default;

  // The statistics that are measured of each tensor, in the order of PendingTensor::found.
  virtual Categories columns(const DumpConfig& config, const DumpOptions& options) const = 0;
  // Whether something is said of tensors without elements.
  virtual bool has_empty_tensors() const { return false; }
  // Whether write() looks at the bits of tensors. Where it does not, a run may be measured before admits() is asked.
  virtual bool reads_bits(const DumpConfig& config) const { return config.saves_tensors() || config.saves_runs; }
  // Whether it looks at the layout of calls.
  virtual bool has_layouts() const { return false; }
  virtual std::unique_ptr<DumpOutput> open(const OutputContext& context) const = 0;

  // Where the files of this place go; nullopt where it is a new folder each time. For who looks before the dump.
  virtual std::optional<std::string> folder(const DumpConfig& config, const DumpOptions& options,
                                            const DumpPlace& place) const = 0;
  // The folder of a rank, for what is its own and of no iteration.
  virtual std::string rank_folder(const DumpConfig& config, std::uint32_t) const { return config.path; }
  // The folder in that folder where tensors go; "" where there is none of its own.
  virtual std::string tensor_folder() const { return ""; }
  // The file in that folder that holds rows: "statistic.csv".
  virtual std::string rows_file() const = 0;
  // Whether rows_file() can be continued by a later dump.
  virtual bool can_append() const { return true; }
};

}  // namespace tensorstat
