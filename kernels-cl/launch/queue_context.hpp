// An OpenCL queue with its device, its kernels, and the memory that batches share. Thread-safe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/batch.hpp"
#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "kernels-cl/program/program.hpp"
#include "stats/core/base/process_id.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

class QueueContext {
 public:
  // Uses the caller's queue if the options name one, else a queue of its own. Folds of tensors in OpenCL memory go to
  // the caller's queue, behind the caller's commands; only our events are waited for. The self-check of a kernel and
  // uploads of host memory go to a second queue of the same context. `soon`: see find_devices().
  static Result<std::unique_ptr<QueueContext>> open(const MeterOptions& options, Ledger& ledger,
                                                    const KernelKind* soon = nullptr);

  // Uses another's context, with a queue of its own. Takes the device `preferred` if the context has it, else the
  // context's best.
  static Result<std::unique_ptr<QueueContext>> open_in(const cl::Context& context, const cl::Device& preferred,
                                                       Ledger& ledger);

  const cl::Context& context() const { return context_; }
  const Device& device() const { return device_; }
  const cl::CommandQueue& queue() const { return queue_; }          // the caller's, if there is one
  const cl::CommandQueue& own_queue() const { return own_queue_; }  // in order
  // In order. A third queue if the device has its own memory, so that uploads overlap with folds; else own_queue().
  const cl::CommandQueue& upload_queue() const { return upload_queue_; }
  BufferCache& buffers() { return buffers_; }
  bool has_callers_queue() const { return queue_() != own_queue_(); }

  // Whether shared virtual memory of the caller's context may be coarse-grained: the host sees that only while it is
  // mapped.
  bool keeps_shared_memory() const { return has_callers_queue() && device_.pointers == Pointers::kSvm; }

  // Whether this process is a forked child of the one that opened it. Then OpenCL must not be called.
  bool forked() const { return process_id() != pid_; }
  // Whether OpenCL must not be called to release what there is: also while exit() runs, where the drivers' own handlers
  // come before the destructors of objects that are older than the drivers.
  bool must_abandon() const;
  static Error forked_error() { return {Code::kDevice, "the process has forked since the device was opened"}; }

  // Why the device cannot fold this tensor; empty if it can.
  std::string refusal(const Tensor& tensor, Precision precision) const;

  // Refuses a tensor if its cl_mem is not a buffer or is too short. Accepts it if the driver does not answer.
  Status check(const Tensor& tensor, KnownBuffer& known) const;

  // in_place: the device reads the tensor without an upload. follows: it needs only the address, and no buffer.
  bool in_place(const Tensor& tensor) const;
  bool follows(const Tensor& tensor) const;

  // Why the device cannot compare these two; empty if it can.
  std::string refusal(const TensorPair& pair) const;

  // Cuts the task of job number `job` into pieces for a batch over `total_bytes`, and appends them. The device reads
  // its tensors in place. If it needs buffers to see host memory, they are appended to `sources`.
  Status add(const Task& task, std::size_t job, std::uint64_t total_bytes, std::vector<Piece>& pieces,
             std::vector<cl::Buffer>& sources) const;

  // Builds and checks a kernel, unless that is done already. Requests for other kernels do not wait for it.
  Result<std::shared_ptr<Kernel>> kernel(const KernelKind& kind);
  Status prepare(const KernelKind& kind);

  // Errors as of Batch::enqueue.
  Result<std::unique_ptr<Batch>> enqueue(const cl::CommandQueue& queue, std::vector<Piece> pieces,
                                         std::vector<cl::Buffer> sources, std::span<const cl_event> wait_list = {});

  // How many pieces, from the first on, fit into one batch within the budget.
  std::size_t batch_length(std::span<const Piece> pieces) const;

  // Folds pieces in batches that the budget has room for. Calls `merge` with each batch that has succeeded. Raises
  // `held_bytes` to the device memory of the largest batch.
  using Merge = std::function<void(const Batch& batch)>;
  Status fold(std::span<const Piece> pieces, const std::vector<cl::Buffer>& sources, const Merge& merge,
              std::uint64_t& held_bytes);
  // The same in one batch, regardless of the budget.
  Status fold_at_once(std::vector<Piece> pieces, std::vector<cl::Buffer> sources, const Merge& merge,
                      std::uint64_t& held_bytes);

  // Copies bytes of a tensor in a cl_mem to the host, after the commands in the queue. After Code::kInUse the device
  // may still write to `bytes`.
  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes);

 private:
  using SharedKernel = std::shared_ptr<Kernel>;

  QueueContext(Device device, cl::Context context, cl::CommandQueue queue, cl::CommandQueue own_queue,
               cl::CommandQueue upload_queue, Ledger& ledger);
  static Result<std::unique_ptr<QueueContext>> open_on(Device device, cl::Context context,
                                                       cl::CommandQueue callers_queue, Ledger& ledger);
  Result<SharedKernel> checked_kernel(const Device& device, const KernelKind& kind);  // built or recalled
  Status read_copy(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes);

  const Device device_;
  const cl::Context context_;
  const cl::CommandQueue queue_, own_queue_, upload_queue_;
  const pid_t pid_ = process_id();
  BufferCache buffers_;
  MadeOnce<KernelKind, SharedKernel> kernels_;
};

}  // namespace tensorstat::cl_engine
