// SPDX-License-Identifier: Apache-2.0
// The dump layer that a framework's backend links: the config of a dump in, the files of that framework's dump out,
// while training runs. A config is told by what it holds:
//   MindSpore's data_dump.json   statistic.csv and .npy files
//   msprobe's config.json        dump.json and .npy files
//   CANN's acl.json              a csv, or one of Ascend's dump files, for each run of an operator
//
//   auto session = DumpSession::from_environment({.log = log});   // MINDSPORE_DUMP_CONFIG
//   const DumpOperator* conv = session->operator_named("Conv2D", "Default/net/Conv2D-op12");
//   ...
//   if (session->wants(place, conv)) session->collect(place, conv, tensors);
//   ...
//   session->step_end(place);
//
// Every function may be called from any thread, and none throws. Without memory a function that gives a Result gives
// kOutOfMemory, and what collect() could not keep is counted as lost. A session whose config wants nothing costs a few
// nanoseconds a query and starts no thread. A forked child dumps nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/rows.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <utility>

namespace tensorstat {

// When the disk is made to have what is written. Against `kill -9` a row is safe in any case, and a tensor's
// file is whole or not there; this is about power failures.
enum class Sync : std::uint8_t {
  kNever,  // the kernel decides
  kClose,  // fsync when a file of rows is closed
  kRow,    // fdatasync before a row counts as written, and fsync of the folders that its file is in, where they can
           // be read; fsync before a tensor's file gets its name
};

enum class DumpLayout : std::uint8_t {
  kByRank,  // {path}/rank_{rank}/{net_name}/{graph}/{iteration}: MindSpore's O0 and O1, CPU, GPU
  kByStep,  // {path}/{step}/{time}/{device}/{net_name}/{graph}/{iteration}: MindSpore's O2
};

struct DumpOptions {
  // Each trouble and each correction once. Called in calls of the session, by the thread that calls, one message at a
  // time and under no lock: it may call the session. What the session's own thread notices is said in the next call.
  Log log = {};
  MeterOptions meter = {};  // its log is not used
  Dialect dialect = Dialect::kMindspore27;
  DumpLayout layout = DumpLayout::kByRank;
  Sync sync = Sync::kClose;
  // Host memory for tensors on their way (see DumpSession::collect). What does not fit is measured by the thread that
  // hands it over, there and then: nothing is dropped, and `stalled_us` of DumpCounters tells.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
  std::string path = {};  // takes the place of the config's, which may then be missing
  // Operators are known by the names that files have, where / \ . and space are _; kernels of the
  // config are matched accordingly.
  bool names_are_escaped = false;
  // What the job runs on, in MindSpore's words: "Ascend", "GPU" or "CPU". On "CPU" support_device is not looked at,
  // as in MindSpore; where this is not said, it is. Also goes into .dump_metadata/config.json.
  std::string device_target = {};
  std::string framework_version = {};  // for .dump_metadata/config.json
  // For msprobe's dump.json: "mindspore", which is taken where nothing is said, "pytorch" or "mindtorch".
  std::string framework = {};
  // How many ranks the job has: for the folders worldsize{..}_global_rank{..} of TorchAir.
  std::uint32_t world_size = 1;
  // With stat_calc_mode "device" and a dialect of MindSpore's: rows as MindSpore has them from its device, True and False
  // for the max and min of a bool, all digits of integers, and null, or no column, for what its operators cannot do
  // there. Else those of its host, where nothing is left out.
  bool device_rows = false;
};

// Where in the training a tensor comes from.
struct DumpPlace {
  std::uint32_t rank = 0;
  std::uint32_t device = 0;  // what `support_device` counts; of one it does not list nothing is dumped, said once
  std::uint32_t graph = 0;
  std::uint64_t iteration = 0;  // from 0; the config's initial_iteration is added
  bool constants = false;       // constants of the graph: in their own folder, at any iteration
};

enum class Io : std::uint8_t { kInput, kOutput };

// What the bits are, where tensor.dtype does not say it: Dtype has each of these, too, and means the same.
enum class Stored : std::uint8_t {
  kPlain,       // as tensor.dtype says
  kInt4,        // two values a byte, low half first
  kUint1,       // eight values a byte, most significant bit first
  kComplex64,   // saved; has no rows, as MindSpore has none
  kComplex128,  // the same
};

struct DumpTensor {
  Tensor tensor;  // with Stored other than kPlain, dtype and element_count are not read
  Shape shape;    // in values
  Io io = Io::kOutput;
  std::uint32_t slot = 0;
  Stored stored = Stored::kPlain;
  std::uint64_t timestamp_us = 0;  // since the Unix epoch; 0: now
  std::string_view format = "DefaultFormat";  // the device's; used where trans_flag is false, or is_in_format is set
  // With it, the bits stay as they are until the last copy of keep_alive is gone, and nothing is copied. The session
  // lets its copy go under no lock, on the session's thread or in a call of the session. The deleter may call the
  // session, but not destroy it. When flush() returns, the deleter may still have to run; when close() returns, it has
  // run, unless the caller holds copies of keep_alive.
  // Without keep_alive, the bits may change as soon as collect() returns: host tensors are measured or copied, and device
  // tensors are measured before it returns. Strided tensors are read before it returns in any case.
  std::shared_ptr<const void> keep_alive = {};
  bool requires_grad = false;  // what msprobe's dump.json of PyTorch says of it
  // The bits are in `format`, and nobody converts them to the host's: files are named by it whatever trans_flag is, and
  // where it is true, that is said once.
  bool is_in_format = false;
  // Where collect() puts what it has found out when it returns: kMeasured where the tensor was measured by then, with
  // kHasNan and kHasInf as its statistics tell. Else it is left as it is.
  static constexpr std::uint32_t kHasNan = 1, kHasInf = 2, kMeasured = 4;
  std::uint32_t* faults = nullptr;
};

// Right at any time, and without a lock.
struct DumpCounters {
  std::uint64_t operator_count = 0;  // handed over and wanted
  std::uint64_t tensor_count = 0;    // measured, saved, or both: all that the config wants of them
  std::uint64_t overflow_count = 0;  // operators found to overflow
  std::uint64_t row_count = 0;          // that a statistic.csv has
  std::uint64_t waiting_row_count = 0;  // in memory, because the disk does not take them; they are tried again
  std::uint64_t lost_row_count = 0;     // that the disk did not take in the end
  std::uint64_t file_count = 0;         // files of tensors written: .npy, or Ascend's dump files
  std::uint64_t lost_file_count = 0;    // those that could not be written
  // Of which, because of faults, something the config wants was not made: the measurement or the file.
  std::uint64_t lost_tensor_count = 0;
  std::uint64_t complex_count = 0;  // complex tensors where only statistics are wanted: they have none
  std::uint64_t stall_count = 0;    // hand-overs that did not fit memory_bytes
  std::uint64_t stalled_us = 0;     // what they cost their threads
  std::uint64_t held_bytes = 0;     // of memory_bytes, now
  std::uint64_t most_held_bytes = 0;
};

// What a backend has to know of a config before it runs operators. The same for a session's life.
struct DumpDemands {
  bool tensors = false;     // are saved
  bool statistics = false;  // are measured
  // All inputs and outputs of a run have to come in one collect(), because its outputs decide: op_debug_mode 3.
  bool whole_operators = false;
  // Each operator has to be waited for before the next one runs, and `failed` to be said of it: op_debug_mode 4.
  bool synchronised_operators = false;
  // Tensors are wanted in the device's format, which DumpTensor::format names; else as the host has them: trans_flag.
  bool device_format = false;
  bool kernel_args = false;  // save_kernel_args() is wanted
};

class DumpOperator;  // owned by its session

class DumpSession {
 public:
  // The config that MINDSPORE_DUMP_CONFIG names; a session that wants nothing when it is not set.
  static Result<DumpSession> from_environment(DumpOptions options);
  static Result<DumpSession> from_file(const std::string& path, DumpOptions options);
  static Result<DumpSession> from_json(std::string_view text, DumpOptions options);

  DumpSession();  // wants nothing
  DumpSession(DumpSession&&) noexcept;
  DumpSession& operator=(DumpSession&&) noexcept;
  ~DumpSession();  // close()

  bool enabled() const { return state_ != nullptr; }

  DumpDemands demands() const;  // of nothing, in a session that wants nothing

  // The folder below which everything is left: the config's path, or what took its place. Empty in a session that wants
  // nothing.
  std::string path() const;
  // The folder of a rank, for what is its own and of no iteration: MindSpore's `{path}/rank_{rank}`, where graphs go.
  std::string rank_folder(std::uint32_t rank) const;
  // The folder that the files of this place go to now; empty where its name is made up by writing (DumpLayout::kByStep).
  std::string folder(const DumpPlace& place) const;

  // Dumping switched at run time. With MindSpore's config, as its dump_mode 2 has it: from the first call of either on,
  // the config's iterations do not count, and every step between start() and stop() is dumped. With msprobe's config
  // and acl.json, `step` and `dump_step` go on to count, as in msprobe. What collect() took before stop() stays wanted.
  // Without a lock; other threads notice with their next wants() or collect(). In a synchronous dump
  // (`enable`) stop() returns when all that came before is in its file, with what flush() returns; else with true.
  void start();
  bool stop();

  // From now on this is added to every DumpPlace::iteration, in place of the config's initial_iteration: for a training
  // that is resumed. Without a lock.
  void set_initial_iteration(std::uint64_t iteration);

  // An operator by its type and full scope name, found or made; ask once and keep it. `set_dump`:
  // whether the user flagged it, for dump_mode 2. nullptr in a session that wants nothing, and
  // where there is no memory; every function takes it and then wants nothing.
  const DumpOperator* operator_named(std::string_view type, std::string_view full_scope_name,
                                     bool set_dump = false, std::uint64_t stream_id = 0,
                                     std::uint64_t task_id = 0);

  // For stack.json and construct.json of msprobe: the frames of the stack that the operator comes from, and the module
  // that it is a part of, "" where there is none. Said before its first run.
  void describe(const DumpOperator* op, std::span<const std::string> stack, std::string_view parent);

  // Whether anything of this operator at this place is wanted, or this input or output of it. A
  // hint to save work: collect() asks again. `failed`: whether running it failed, for op_debug_mode
  // 4. In overflow dumps it cannot know, and says yes while operators are still looked for.
  bool wants(const DumpPlace& place, const DumpOperator* op, bool failed = false) const;
  bool wants(const DumpPlace& place, const DumpOperator* op, Io io, bool failed = false) const;

  // Hands tensors of one run of an operator over. With op_debug_mode 3 all of its inputs and
  // outputs have to come in one call, because the outputs decide.
  //
  // Host tensors without keep_alive are measured before this returns where merging statistics of the host are all that is
  // wanted: that takes about as long as to copy them. Where their bits have to outlive the call (tensors that are saved,
  // digests, overflow dumps, stat_calc_mode device) they are copied into memory_bytes. Rows are written by the session's
  // thread; at most 4,096 runs wait for it, and who hands over more writes them.
  //
  // `layout`, for msprobe's dump.json: members of the call, where their tensors stand in lists and objects, and arguments
  // that are none; "" where each tensor stands at its slot. An object as Python's json.dumps(indent=1) writes it, in which
  // a tensor is the byte 1, i or o for input or output, its slot, and the byte 1. What several calls of collect() say of
  // one run is put together. One that is no such object is said, and not looked at.
  void collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors,
               bool failed = false, std::string_view layout = {});

  // With save_kernel_args, the operator's arguments as texts.
  void save_kernel_args(const DumpPlace& place, const DumpOperator* op,
                        std::span<const std::pair<std::string, std::string>> args);

  // The operators of a compiled graph, in the order of their execution.
  void save_execution_order(std::uint32_t rank, std::uint32_t graph,
                            std::span<const std::string> full_scope_names);

  // The iteration of this rank and graph is over: its files are closed once they are complete. In a synchronous dump
  // (`enable`) this returns when they are complete, with what flush() returns; else with true. They are closed, and with
  // Sync::kClose synced, by the session's thread: what the disk says to that, counters() and the next call tell.
  // Of an iteration that is not wanted it takes some nanoseconds, as wants() does; each 512th wakes the thread that
  // writes their numbers.
  bool step_end(const DumpPlace& place);

  // Returns when everything handed over so far is in its file, waits because the disk does not take it, or is lost.
  // Whether all of it is in its file: false while anything waits, and once anything was lost; counters() tell.
  // Against power failures, see Sync. A deleter of keep_alive may still have to run; see close().
  bool flush();

  // flush(), as the last try for what waits; then says which kernels of the config matched nothing. From then on the
  // session wants nothing. When it returns, the session holds no keep_alive any more and runs no deleter of one, unless
  // a deleter is what called it.
  bool close();

  DumpCounters counters() const;

 private:
  struct State;
  explicit DumpSession(std::unique_ptr<State> state);
  static Result<DumpSession> open(Result<std::unique_ptr<State>> state);
  std::unique_ptr<State> state_;
};

}  // namespace tensorstat
