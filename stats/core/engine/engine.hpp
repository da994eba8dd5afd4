// The interface of an engine, which folds a batch of tensors into partials and bytes into digests. Engines do not know
// each other or the categories: the caller has already turned categories into needs. Each engine's folder defines its
// make_ function below.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/pair.hpp>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

#include "stats/core/engine/needs.hpp"
#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat {

// A tensor and the partial of the same dtype that it is folded into. The partial may already hold elements; the
// tensor's come after them. A partial belongs to one job of a batch.
struct Job {
  Tensor tensor;
  Partial* partial = nullptr;

  std::uint64_t bytes() const { return tensor.bytes(); }
};

// As a Job, for two tensors of one shape. `first_index`: the index of their first element in the whole.
struct PairJob {
  TensorPair tensors;
  std::uint64_t first_index = 0;
  PairPartial* partial = nullptr;

  std::uint64_t bytes() const { return tensors.a.bytes() + tensors.b.bytes(); }
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;

  // The reason why it cannot fold this tensor; empty if it can.
  virtual std::string refusal(const Tensor& tensor, Precision precision) const = 0;

  // Folds each job's tensor into its partial. On an error no partial has changed. Nothing reads the tensors after this
  // returns, unless the error is Code::kInUse.
  virtual Status fold(std::span<const Job> jobs) = 0;
};

// The digest of bytes that arrive in order, or an error with the reason.
class Digester {
 public:
  virtual ~Digester() = default;
  virtual void update(std::span<const std::byte> bytes) = 0;
  virtual Result<Digest> finish() = 0;
};

// The request for each tensor of a batch: a partial that keeps `needs`, and the digests among `needs`.
struct Wanted {
  Precision precision = Precision::kHigh;
  Needs needs = kNothing;
  bool partial = true;  // false: digests only
  double cast_scale = 1;
};

// The results of one tensor: the words and bins of its partial, if one was wanted, and the digests that were wanted and
// did not fail. Words and bins are valid during the call.
struct TensorResult {
  std::span<const std::int64_t> words{};
  BinsView bins{};
  std::optional<Digest> md5{}, sha1{};
};
using Take = std::function<void(std::size_t tensor, const TensorResult& outcome)>;

class HostEngine : public Engine {
 public:
  // Reads each tensor once and calls `take` once for each tensor, as soon as its results are complete, on any thread,
  // several at a time. `take` may throw std::bad_alloc only, and nothing if digests are wanted. The CPU must be able to
  // read all tensors. An error says why some digests are missing; all other results have been passed to `take`.
  virtual Status measure(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take) = 0;

  // Folds each job's pair into its partial. The CPU must be able to read all tensors.
  virtual void compare(std::span<const PairJob> jobs) = 0;

  // Folds column i of a contiguous matrix in host memory, with `lines` rows, into columns[i], after the elements that
  // this holds. All partials have the same dtype, precision and needs.
  virtual void fold_columns(const std::byte* matrix, std::uint64_t lines, std::span<Partial> columns) = 0;

  // Copies elements [first, first + to.size() / element) of a strided tensor, in C order.
  virtual void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> to) = 0;

  // `which` is kMd5Digest or kSha1Digest, MindSpore's two-level hash, which depends on the element size of `dtype`.
  virtual std::unique_ptr<Digester> digester(Need which, Dtype dtype) = 0;
};

class Ledger;

// Uploads a tensor in host memory to a device in parts. The device folds parts while later ones are uploaded.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;
  // The part's bytes may be reused as soon as this returns.
  virtual Status append(const Tensor& part) = 0;
  // Waits until every part is in the partial. Before that, and after an error, the partial is not valid.
  virtual Status finish() = 0;
  // The peak of the device memory that it held so far.
  virtual std::uint64_t held_bytes() const = 0;
};

// The folds of one step on a board. The destructor waits until the device has ended them.
class DeviceStep {
 public:
  virtual ~DeviceStep() = default;
  // Waits until what the device folded is in host memory. Call it after DeviceBoard::end_step(), any number of times
  // and from any thread. An error is of all folds of the step; after Code::kInUse the device is not called any more.
  virtual Status wait() = 0;
  // After wait(): merges a fold into an empty partial. An error if this fold has no result.
  virtual Status merge_into(std::size_t fold, Partial& partial) = 0;
  virtual std::uint64_t held_bytes() const = 0;
};

// Folds that are only enqueued. A step's partials stay on the device until it ends; then one copy brings them to the
// host. Thread-safe. Outlives its steps.
class DeviceBoard {
 public:
  virtual ~DeviceBoard() = default;
  struct Fold {
    std::shared_ptr<DeviceStep> step;
    std::size_t number;  // within the step
  };
  // Enqueues the fold of a tensor: in a cl_mem behind the caller's queue, in a GPU's memory on its own stream. Waits
  // only when a kernel is used first, and where more memory is needed than any step had.
  virtual Result<Fold> fold(const Tensor& tensor) = 0;
  // Enqueues the copy of all folds since the last call. DeviceStep::wait() returns its error.
  virtual void end_step() = 0;
};

// Folds in a graph that is captured from streams. A replay runs each of them anew. Thread-safe.
class DeviceGraph {
 public:
  // Keeps the memory that replays write to until the engine ends.
  virtual ~DeviceGraph() = default;
  // Adds the fold of a tensor whose stream is being captured; kInvalid if it is not. Returns the fold's number.
  virtual Result<std::size_t> fold(const Tensor& tensor) = 0;
  // Enqueues the copy of all results behind a replay on this stream. The next replay must be behind the copy.
  virtual Result<std::shared_ptr<DeviceStep>> replayed(void* stream) = 0;
};

// The driver's answers about the last cl_mem, so that the tensors of one cl_mem cost its calls once. It lives within
// one call of the library, because the caller can free the cl_mem afterwards.
struct KnownBuffer {
  const void* memory = nullptr;
  void* context = nullptr;               // nullptr: not asked
  std::optional<std::uint64_t> bytes{};  // nullopt: not asked

  // Forgets the answers about another cl_mem.
  void look_at(const void* buffer) {
    if (memory != buffer) *this = {.memory = buffer};
  }
};

// One for each tensor of a task: a tensor alone has the first, a pair has both.
using KnownBuffers = std::array<KnownBuffer, 2>;

class DeviceEngine : public Engine {
 public:
  virtual std::string refusal(const Tensor& tensor, Precision precision, KnownBuffer& known) const = 0;
  std::string refusal(const Tensor& tensor, Precision precision) const final {
    KnownBuffer known;
    return refusal(tensor, precision, known);
  }
  virtual std::string description() const = 0;  // "Portable Computing Language: pthread-..."

  // As fold(), and returns the peak of device memory held for it.
  virtual Result<std::uint64_t> fold_counting(std::span<const Job> jobs) = 0;
  Status fold(std::span<const Job> jobs) final {
    const auto held_bytes = fold_counting(jobs);
    return held_bytes ? Status{} : Status(held_bytes.error());
  }

  // The reason why it cannot compare these two; empty if it can.
  virtual std::string refusal(const TensorPair& pair, KnownBuffers& known) const = 0;

  // As fold_counting(), for pairs. All partials have the same tolerance.
  virtual Result<std::uint64_t> compare(std::span<const PairJob> jobs) = 0;

  // Whether the device folds host memory in place, without a copy.
  virtual bool shares_host_memory() const = 0;

  // Whether the host may see old values of shared virtual memory: it may be coarse-grained.
  virtual bool keeps_shared_memory() const = 0;

  // Whether the host engine is faster for host memory, because the device is the same CPU.
  virtual bool is_slower_than_host() const = 0;

  // Refuses a tensor if its cl_mem is not a buffer or is too short. Accepts it if the driver does not answer.
  virtual Status check(const Tensor& tensor, KnownBuffer& known) const = 0;

  // A stream that folds into `partial`, which must outlive it. The stream holds its device memory until it is
  // destroyed.
  virtual Result<std::unique_ptr<DeviceStream>> stream(Partial& partial) = 0;

  // A board behind the caller's queue, for partials of `wanted`, which has no digests and no quantiles. kUnsupported:
  // the caller gave no queue, or its commands may overtake each other. The engine must outlive the board.
  virtual Result<std::unique_ptr<DeviceBoard>> board(const Wanted& wanted) = 0;

  // Copies the bytes [first, first + bytes.size()) of a tensor in a cl_mem of any context to the host. After
  // Code::kInUse the device may still write to `bytes`.
  virtual Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) = 0;
};

namespace gpu {
class Lanes;
}

// Folds tensors in CUDA's memory where they are. Thread-safe.
class GpuFolder {
 public:
  static constexpr std::string_view kName = "cuda";
  virtual ~GpuFolder() = default;

  // The reason why it cannot fold this tensor into such a partial; empty if it can. The first time that a kernel is
  // needed on this machine, that takes some seconds: it is made.
  virtual std::string refusal(const Tensor& tensor, const Wanted& wanted) = 0;
  virtual std::string refusal(const TensorPair& pair) = 0;

  // Folds each job's tensors into its partial, behind the work of their streams, and waits for that. Returns the device
  // memory held for it. After an error the partials are not valid.
  virtual Result<std::uint64_t> fold(std::span<const Job> jobs) = 0;
  virtual Result<std::uint64_t> compare(std::span<const PairJob> jobs) = 0;

  // A board for partials of `wanted`, which has no digests and no quantiles. The folder must outlive it.
  virtual std::unique_ptr<DeviceBoard> board(const Wanted& wanted) = 0;
  virtual std::unique_ptr<DeviceGraph> graph(const Wanted& wanted) = 0;
};
// Both must outlive it.
std::unique_ptr<GpuFolder> make_gpu_folder(gpu::Lanes& lanes, Ledger& ledger);

// The reason why On::kAuto folds host memory on the host, if that is known without looking for a device or loading a
// driver. Empty if it depends on the device.
std::string why_host_memory_stays(const MeterOptions& options);

std::unique_ptr<HostEngine> make_host_engine(const MeterOptions& options);

// The task that a device is sought for: a tensor, or with `beside` two tensors.
struct Errand {
  Dtype dtype;
  Wanted wanted;
  std::optional<Dtype> beside = {};
};

// Opens the device that the options name, or the best one; an error gives the reason. Every allocation on the
// device is entered in `ledger`, which must outlive the engine. A driver that is tried first is tried with the errand's
// kernel, too.
Result<std::unique_ptr<DeviceEngine>> make_opencl_engine(const MeterOptions& options, Ledger& ledger,
                                                         const std::optional<Errand>& errand = {});

}  // namespace tensorstat
