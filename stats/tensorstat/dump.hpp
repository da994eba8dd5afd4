// SPDX-License-Identifier: Apache-2.0
// The dump layer for a framework's backend. It reads a dump config and, while training runs, writes the files that the
// framework's own dump would write. The content of a config tells its kind:
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
// Thread-safe; nothing throws. If host memory is exhausted, a function with a Result returns kOutOfMemory, and
// collect() counts what it cannot keep as lost. If the config selects nothing, a query takes a few nanoseconds and the
// session starts no thread. A forked child dumps nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/alerts.hpp>
#include <tensorstat/meter.hpp>
#include <tensorstat/rows.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <utility>
#include <vector>

namespace tensorstat {

// When written data is synced to the disk. This matters for power failures only: a row survives `kill -9` in any case,
// and a tensor's file is complete or absent.
enum class Sync : std::uint8_t {
  kNever,  // the kernel decides
  kClose,  // fsync when a file of rows is closed
  kRow,    // fdatasync before a row counts as written, and fsync of the folders above its file, if they can be read;
           // fsync of a tensor's file before it gets its name
};

enum class DumpLayout : std::uint8_t {
  kByRank,  // {path}/rank_{rank}/{net_name}/{graph}/{iteration}: MindSpore's O0 and O1, CPU, GPU
  kByStep,  // {path}/{step}/{time}/{device}/{net_name}/{graph}/{iteration}: MindSpore's O2
};

struct DumpOptions {
  // Receives each problem and each correction once. The session calls it from the caller's thread, within a call of the
  // session, one message at a time and without a lock, so it may call the session. Messages of the session's own thread
  // wait for the next call.
  Log log = {};
  MeterOptions meter = {};  // meter.log is ignored
  Dialect dialect = Dialect::kMindspore27;
  DumpLayout layout = DumpLayout::kByRank;
  Sync sync = Sync::kClose;
  // The limit of host memory for copied tensors (see DumpSession::collect). If a tensor does not fit, the calling
  // thread measures it at once. Nothing is dropped; DumpCounters::stalled_us has the time.
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;
  std::string path = {};  // if set, replaces the config's path, which may then be missing
  // Operator names are as in file names, with / \ . and space replaced by _. The kernels of the config are matched
  // accordingly.
  bool names_are_escaped = false;
  // The job's device in MindSpore's words: "Ascend", "GPU" or "CPU". With "CPU", support_device is ignored, as in
  // MindSpore; with anything else, or if empty, it applies. Is written to .dump_metadata/config.json.
  std::string device_target = {};
  std::string framework_version = {};  // for .dump_metadata/config.json
  // For msprobe's dump.json: "mindspore" (also if empty), "pytorch" or "mindtorch".
  std::string framework = {};
  // The number of ranks of the job, for TorchAir's folders worldsize{..}_global_rank{..}.
  std::uint32_t world_size = 1;
  // Applies if stat_calc_mode is "device" and the dialect is MindSpore's. true: rows as MindSpore's device writes them:
  // True and False for max and min of bool, all digits of integers, and null, or no column, for statistics that
  // MindSpore cannot compute there. false: rows as MindSpore's host writes them, with all statistics.
  bool device_rows = false;
  // The backend promises: a tensor in a cl_mem changes, or is released, only by commands of `meter.queue`, which is in
  // order, or by what waits for such commands; one in CUDA's memory only by work of Tensor::stream, or by what waits
  // for such work. Then collect() does not wait for tensors in device memory without keep_alive. It enqueues their
  // folds; step_end() enqueues one copy of the results, and their rows come after that. This holds if only statistics
  // are wanted, without digests and quantiles, if stat_calc_mode is not given as "host", and without
  // AlertOptions::save_tensors. The statistics have the same bits, and what cannot be done so is done as without this,
  // which is said once.
  bool ordered_by_queue = false;
  // true: from the first tensor on that ordered_by_queue enqueues, step_end() waits for nothing, in spite of `enable`
  // and alerts. When settle() returns, rows are written, alerts delivered and faults known.
  bool settles_later = false;
  // See DumpSession::set_alerts(). If it wants nothing, the rules of the variable TENSORSTAT_ALERTS are taken.
  AlertOptions alerts = {};
};

// Where in the training a tensor comes from.
struct DumpPlace {
  std::uint32_t rank = 0;
  std::uint32_t device = 0;  // the number that `support_device` lists; a device that is not listed is not dumped, with
                             // one warning
  std::uint32_t graph = 0;
  std::uint64_t iteration = 0;  // from 0; the config's initial_iteration is added
  bool constants = false;       // constants of the graph, which have their own folder and no iteration
};

enum class Io : std::uint8_t { kInput, kOutput };

// The element format, for callers that do not set tensor.dtype. Each format exists as a Dtype, too, with the same
// meaning.
enum class Stored : std::uint8_t {
  kPlain,       // as tensor.dtype says
  kInt4,        // two values a byte, low half first
  kUint1,       // eight values a byte, most significant bit first
  kComplex64,   // saved, but has no rows, as in MindSpore
  kComplex128,  // as kComplex64
};

// What a tensor in a device's format is on the host. Ascend's dump files keep it, and readers need it to convert the
// tensor.
struct HostForm {
  Shape shape;                   // empty: not known
  std::string_view format = {};  // "NCHW"; empty: not known. Written for outputs
  std::int32_t groups = 0;       // of a convolution's weights in FRACTAL_Z
};

struct DumpTensor {
  Tensor tensor;  // if `stored` is not kPlain, dtype and element_count are ignored
  Shape shape;    // its product is the element count
  Io io = Io::kOutput;
  std::uint32_t slot = 0;
  Stored stored = Stored::kPlain;
  std::uint64_t timestamp_us = 0;             // since the Unix epoch; 0: now
  std::string_view format = "DefaultFormat";  // the device's; used if trans_flag is false or is_in_format is set
  // If set, the bits do not change until the last copy of keep_alive is gone, and the session copies nothing. It
  // releases its copy without a lock, on its own thread or within a call of the session. The deleter may call the
  // session, but not destroy it. The deleter may run after flush() returns. It has run when close() returns, unless the
  // caller holds copies.
  // If not set, the bits may change as soon as collect() returns: tensors of the host, CUDA and ROCm are measured or
  // copied before, those in a cl_mem are measured before; but see DumpOptions::ordered_by_queue. Strided tensors are
  // always read before collect() returns.
  std::shared_ptr<const void> keep_alive = {};
  bool requires_grad = false;  // written to msprobe's dump.json of PyTorch
  // The bits are in `format` and cannot be converted to the host's format. Files are named by `format`, whatever
  // trans_flag is. If trans_flag is true, one warning says so.
  bool is_in_format = false;
  HostForm on_host = {};  // of a tensor that is written in `format`
  // If not null, collect() writes here before it returns: kMeasured if the tensor is already measured, with kHasNan and
  // kHasInf according to its statistics. If it is not measured yet, nothing is written.
  // With AlertOptions::save_tensors it adds kIsOfAlert if an alert names this tensor.
  static constexpr std::uint32_t kHasNan = 1, kHasInf = 2, kMeasured = 4, kIsOfAlert = 8;
  std::uint32_t* faults = nullptr;
  // If not 0, and the tensor is not measured when collect() returns: settle() has its faults under this number.
  std::uint64_t number = 0;
  // Only for AlertOptions::save_tensors: the tensor gets no row. It is saved if an alert names a tensor of the same
  // operator, in this collect() or, if that has nothing else, before it in the same step.
  bool is_for_event = false;
  // For rules such as "differs over dp" of alerts: how this tensor compares with its replicas on other ranks, as the
  // caller found out. If the data is null, they were not compared. Else one line for each group of ranks over which
  // they differ: its name, and behind ": " what the alert will say: "dp: of 3 replicas rank 1 differs in a bit".
  std::string_view differs_over = {};
};

// The faults of a tensor that was not measured when collect() returned.
struct LateFaults {
  std::uint64_t number = 0;  // DumpTensor::number
  std::uint32_t faults = 0;  // as *DumpTensor::faults; 0: the tensor is lost
};

// Correct at any time; reading takes no lock.
struct DumpCounters {
  std::uint64_t operator_count = 0;     // handed over and wanted
  std::uint64_t tensor_count = 0;       // done as the config says: measured, saved, or both
  std::uint64_t overflow_count = 0;     // operators found to overflow
  std::uint64_t row_count = 0;          // rows written to files
  std::uint64_t waiting_row_count = 0;  // rows that could not be written yet; they are kept in memory and retried
  std::uint64_t lost_row_count = 0;     // rows that could not be written
  std::uint64_t file_count = 0;         // files of tensors written: .npy, or Ascend's dump files
  std::uint64_t lost_file_count = 0;    // files of tensors that could not be written
  // Tensors that lack a wanted row or file because of errors.
  std::uint64_t lost_tensor_count = 0;
  std::uint64_t complex_count = 0;  // complex tensors that were skipped because only statistics are wanted
  // Calls of collect() with tensors that did not fit into memory_bytes, or that ordered_by_queue was to enqueue and
  // that were measured at once.
  std::uint64_t stall_count = 0;
  std::uint64_t stalled_us = 0;  // the time that they took from the calling threads
  std::uint64_t held_bytes = 0;  // the part of memory_bytes in use now
  std::uint64_t most_held_bytes = 0;
  // Where the tensors that rows are made of were measured. Not counted: tensors without statistics, and those that are
  // only looked at for an overflow.
  std::uint64_t device_row_count = 0;    // by an OpenCL device, or by the GPU that has the tensor
  std::uint64_t host_row_count = 0;      // by the host
  std::uint64_t fallback_row_count = 0;  // of host_row_count: a device failed, or could not measure what lies in its
                                         // memory; the log says why
  std::uint64_t device_bytes = 0;        // device memory that the session holds now, without the tensors themselves
  std::uint64_t most_device_bytes = 0;   // the highest number so far
};

// What a config requires from a backend. It does not change during a session.
struct DumpDemands {
  bool tensors = false;     // tensors are saved
  bool statistics = false;  // tensors are measured
  // All inputs and outputs of a run must be passed in one collect(), because the outputs decide: op_debug_mode 3.
  bool whole_operators = false;
  // The backend must wait for each operator before it runs the next, and pass `failed`: op_debug_mode 4.
  bool synchronised_operators = false;
  // true: tensors are wanted in the device's format, which DumpTensor::format names. false: in the host's format. See
  // trans_flag.
  bool device_format = false;
  bool kernel_args = false;   // save_kernel_args() is wanted
  bool saved_values = false;  // save() is wanted, and operators are not: msprobe's level "debug"
};

class DumpOperator;  // owned by its session
class DumpGraph;     // the tensors of a CUDA graph: see DumpSession::begin_capture()

class DumpSession {
 public:
  // Reads the config file that MINDSPORE_DUMP_CONFIG names. If the variable is not set, the session wants nothing.
  static Result<DumpSession> from_environment(DumpOptions options);
  static Result<DumpSession> from_file(const std::string& path, DumpOptions options);
  static Result<DumpSession> from_json(std::string_view text, DumpOptions options);

  DumpSession();  // wants nothing
  DumpSession(DumpSession&&) noexcept;
  DumpSession& operator=(DumpSession&&) noexcept;
  ~DumpSession();  // close()

  bool enabled() const { return state_ != nullptr; }

  DumpDemands demands() const;  // all false if the session wants nothing

  // The root of all files: the config's path or its replacement. Empty if the session wants nothing.
  std::string path() const;
  // The folder for files of a rank that belong to no iteration, such as graphs: MindSpore's `{path}/rank_{rank}`.
  std::string rank_folder(std::uint32_t rank) const;
  // The folder in which files of this place are written now. Empty if the first write makes its name
  // (DumpLayout::kByStep).
  std::string folder(const DumpPlace& place) const;

  // Switch dumping at run time. With MindSpore's config, as in its dump_mode 2: after the first call of either, the
  // config's iterations are ignored and every step between start() and stop() is dumped. With msprobe's config and
  // acl.json, `step` and `dump_step` still apply, as in msprobe. Runs that collect() took before stop() are still
  // dumped. These calls take no lock; other threads see the change at their next wants() or collect(). In a synchronous
  // dump (`enable`), stop() waits until everything before it is in its file and returns what flush() returns. Otherwise
  // it returns true.
  void start();
  bool stop();

  // Asks rules of each row, and keeps the rows of the last steps: <tensorstat/alerts.hpp>. Statistics that the rules
  // need and the config does not write are measured, too, and not written. step_end() then returns after all rows of
  // the step are judged. Call it before the first collect(); a second call replaces the first. kInvalid: a rule is
  // wrong, and where; the config saves no statistics; or with keep_steps it saves tensors.
  Status set_alerts(AlertOptions options);
  // The groups of ranks that rules "differs over GROUP" name, each once. The caller compares the replicas over them,
  // and says so by DumpTensor::differs_over.
  std::vector<std::string> alert_groups() const;

  // Replaces the config's initial_iteration, which is added to every DumpPlace::iteration: for a resumed training.
  // Takes no lock.
  void set_initial_iteration(std::uint64_t iteration);

  // Finds or makes an operator by its type and full scope name. Call it once per operator and keep the pointer.
  // `set_dump`: whether the user flagged the operator: for dump_mode 2, and in addition to the dump_list of CANN's
  // acl.json, as torchair.scope.data_dump() does. An id that is not given is written as the
  // config's framework writes it: 65535 with a data_dump.json without e2e_dump_settings (MindSpore's O2), but for the
  // device targets CPU and GPU; else 0. Returns nullptr if the session wants nothing or host memory is exhausted. Every
  // function accepts nullptr as an operator that is not wanted.
  const DumpOperator* operator_named(std::string_view type, std::string_view full_scope_name, bool set_dump = false,
                                     std::optional<std::uint64_t> stream_id = {},
                                     std::optional<std::uint64_t> task_id = {});

  // For msprobe's stack.json and construct.json: the stack frames from which the operator was called, and the module
  // that contains it, or "": the key of that module's call. Call it before the operator's first run. In level mix a
  // module that `list` names is dumped with all that runs inside.
  void describe(const DumpOperator* op, std::span<const std::string> stack, std::string_view parent);

  // Whether the config wants anything of this operator at this place, or an input or output of it. Use it to save work;
  // collect() checks again. `failed`: whether the operator failed, for op_debug_mode 4. In overflow dumps the answer is
  // true while the session still looks for overflows, because it depends on the outputs.
  bool wants(const DumpPlace& place, const DumpOperator* op, bool failed = false) const;
  bool wants(const DumpPlace& place, const DumpOperator* op, Io io, bool failed = false) const;

  // Takes tensors of one run of an operator. With op_debug_mode 3, pass all inputs and outputs in one call, because the
  // outputs decide.
  //
  // Host tensors without keep_alive are measured before this returns if only merging statistics of the host are wanted;
  // that takes about as long as a copy. Tensors in CUDA's memory are measured by their GPU, unless stat_calc_mode is
  // given as "host". Otherwise (saved tensors, digests, overflow dumps, on the host also stat_calc_mode device) they
  // are copied into memory_bytes. The session's thread writes the rows. At most 4,096 runs wait for it; a caller that
  // adds more writes rows itself.
  //
  // `layout` is for msprobe's dump.json. It describes the call: where its tensors stand in lists and objects, and its
  // other arguments. "" means that each tensor stands at its slot. It is an object as Python's json.dumps(indent=1)
  // writes it, with each tensor written as byte 1, i or o (input or output), the slot, byte 1. Layouts from several
  // calls of collect() for one run are combined. An invalid layout is reported and ignored.
  void collect(const DumpPlace& place, const DumpOperator* op, std::span<const DumpTensor> tensors, bool failed = false,
               std::string_view layout = {});

  // As msprobe's PrecisionDebugger.save(): takes a tensor that no operator has, for a config of level "debug". It
  // stands in debug.json as {name}.{n}.debug, where n counts the tensors of this name in the step. With any other
  // config nothing is done. The same as collect() for an operator of the type "debug", which also takes the tensors of
  // a list or an object: their layout has one member, "debug", and their files are {name}.{n}.debug.0 and so on. An
  // operator that is named {name}.{n}.debug keeps its n.
  void save(const DumpPlace& place, std::string_view name, const DumpTensor& tensor);

  // Gives the name of a graph's model. Call it before the graph's first run. With CANN's acl.json and TorchAir's
  // options, the item of dump_list with this model_name applies to the graph. The graph's files go into the model's
  // folder, also with DumpLayout::kByStep. Without this call the config's first model is taken, and an operator is
  // dumped if any item of the list selects it.
  void name_graph(std::uint32_t graph, std::string_view model);

  // Takes the operator's arguments as texts, for configs with save_kernel_args.
  void save_kernel_args(const DumpPlace& place, const DumpOperator* op,
                        std::span<const std::pair<std::string, std::string>> args);

  // Takes the operators of a compiled graph in the order of their execution.
  void save_execution_order(std::uint32_t rank, std::uint32_t graph, std::span<const std::string> full_scope_names);

  // Ends the iteration of this rank and graph. The session's thread closes its files when they are complete, and with
  // Sync::kClose syncs them. Errors of that show in counters() and at the next call. In a synchronous dump (`enable`)
  // this waits until the files are complete and returns what flush() returns. Otherwise it returns true. If the
  // iteration is not wanted, this takes some nanoseconds; every 512th such call wakes the thread that writes the
  // iterations' numbers.
  bool step_end(const DumpPlace& place);

  // Rows of CUDA graphs, with DumpOptions::ordered_by_queue. collect() between these two, on any thread, adds the
  // tensors whose stream is being captured to the graph, and writes nothing: each replay has their rows. What
  // ordered_by_queue cannot enqueue has none, and is counted as lost. One capture at a time: another begin_capture()
  // ends the one before.
  //
  //   auto graph = session.begin_capture();
  //   ...                                    // cuStreamBeginCapture, collect(), cuStreamEndCapture
  //   session.end_capture();
  //   cuGraphLaunch(executable, stream);
  //   session.replayed(*graph, iteration, stream);   // behind each replay that is to have rows, before the next one
  //
  // The graph writes to the memory of the DumpGraph. Keep it until the CUDA graph is destroyed and its last replay is
  // over; it may outlive the session. nullptr: there will be no rows; the log says why.
  std::shared_ptr<DumpGraph> begin_capture();
  void end_capture();
  // Enqueues a copy of the results, and the rows of this iteration. The numbers of tensors are DumpTensor::number +
  // added_to_numbers. False: they are lost, and counted.
  bool replayed(DumpGraph& graph, std::uint64_t iteration, void* stream, std::uint64_t added_to_numbers = 0);

  // Waits until the steps that have ended are measured, and delivers their alerts. Returns the faults of the tensors
  // that have a number, in no order, and each once. `with_this_step`: the same for the tensors that were collected
  // since the last step_end(), whose step goes on. Call it once a step if tensors have numbers: until then their faults
  // take memory. A tensor that no row was asked for is not in the list. The list is shorter if host memory is
  // exhausted.
  std::vector<LateFaults> settle(bool with_this_step = false);

  // Waits until everything handed over so far is in its file, is lost, or has to be retried because of the disk.
  // Returns whether everything is in its file: false while anything waits for the disk, and after anything was lost;
  // counters() has the numbers. For power failures see Sync. A deleter of keep_alive may run later; see close().
  bool flush();

  // A last flush(). Then logs the kernels of the config that matched nothing. After it the session wants nothing, holds
  // no keep_alive and runs no deleter, unless a deleter called it.
  bool close();

  DumpCounters counters() const;

 private:
  struct State;
  explicit DumpSession(std::unique_ptr<State> state);
  static Result<DumpSession> open(Result<std::unique_ptr<State>> state);
  std::unique_ptr<State> state_;
};

}  // namespace tensorstat
