// An OpenCL queue at work for tensorstat: the device behind it, its kernels, and the memory that batches
// share. Thread-safe.
#pragma once

#include <unistd.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/batch.hpp"
#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/launch/made_once.hpp"
#include "kernels-cl/launch/program.hpp"
#include "stats/engine/engine.hpp"

namespace tensorstat::cl_engine {

class QueueContext {
 public:
  // On the caller's queue where the options name one, else on a queue of its own. What folds tensors in
  // OpenCL memory goes to the caller's queue, behind what the caller has enqueued, and only own events are
  // waited for. What has nothing to do with it (the self-check of a kernel, uploads of host memory) goes to
  // another queue of the same context.
  static Result<std::unique_ptr<QueueContext>> open(const MeterOptions& options, Ledger& ledger);

  // In a context that somebody else made, on a queue of its own: on `preferred` where the context has that device,
  // else on the best that it has.
  static Result<std::unique_ptr<QueueContext>> open_in(const cl::Context& context, const cl::Device& preferred,
                                                       Ledger& ledger);

  const cl::Context& context() const { return context_; }
  const Device& device() const { return device_; }
  const cl::CommandQueue& queue() const { return queue_; }          // the caller's, where there is one
  const cl::CommandQueue& own_queue() const { return own_queue_; }  // in order
  // In order, beside the own queue where the device has memory of its own, so that uploads overlap.
  const cl::CommandQueue& upload_queue() const { return upload_queue_; }
  BufferCache& buffers() { return buffers_; }

  // Whether this process is a child of the one that opened it: then nothing may be asked of OpenCL. A system call: to
  // be asked once a request, not once a tensor.
  bool forked() const { return getpid() != pid_; }

  // Why the device cannot fold this tensor, in words; empty when it can.
  std::string refusal(const Tensor& tensor, Precision precision) const;

  // An error where a tensor reaches beyond its cl_mem, as far as the driver tells.
  Status check(const Tensor& tensor) const;

  // Whether the device reads the tensor where it is; and whether it does so by its address alone, without
  // a buffer for each.
  bool in_place(const Tensor& tensor) const;
  bool follows(const Tensor& tensor) const;

  // Why the device cannot compare these two, in words; empty when it can.
  std::string refusal(const TensorPair& pair) const;

  // Adds the task of job number `job`, whose tensors are read in place, to the pieces of a batch over `total_bytes`.
  // The buffers through which host memory is seen go to `sources`.
  Status add(const Task& task, std::size_t job, std::uint64_t total_bytes, std::vector<Piece>& pieces,
             std::vector<cl::Buffer>& sources) const;

  // Builds and checks a kernel, where that is not done yet. Nobody waits meanwhile who asks for other kernels.
  Status prepare(const KernelKind& kind);

  // Errors are Batch::enqueue's.
  Result<std::unique_ptr<Batch>> enqueue(const cl::CommandQueue& queue, std::vector<Piece> pieces,
                                         std::vector<cl::Buffer> sources, std::span<const cl_event> wait_list = {});

  // How many of the pieces, from the first on, the budget has room for at once.
  std::size_t batch_length(std::span<const Piece> pieces) const;

  // Folds pieces in batches that the budget has room for. `merge` is given each batch that has ended well, and
  // `held_bytes` is raised to the device memory of the largest.
  using Merge = std::function<void(const Batch& batch)>;
  Status fold(std::span<const Piece> pieces, const std::vector<cl::Buffer>& sources, const Merge& merge,
              std::uint64_t& held_bytes);
  // The same in one batch, whatever the budget says.
  Status fold_at_once(std::vector<Piece> pieces, std::vector<cl::Buffer> sources, const Merge& merge,
                      std::uint64_t& held_bytes);

  // Copies bytes of a tensor in a cl_mem to the host, behind what is in the queue. After Code::kInUse the device
  // may still write to `bytes`.
  Status read(const Tensor& tensor, std::uint64_t first, std::span<std::byte> bytes) const;

 private:
  using SharedKernel = std::shared_ptr<Kernel>;

  QueueContext(Device device, cl::Context context, cl::CommandQueue queue, cl::CommandQueue own_queue,
               cl::CommandQueue upload_queue, Ledger& ledger);
  static Result<std::unique_ptr<QueueContext>> open_on(Device device, cl::Context context,
                                                       cl::CommandQueue callers_queue, Ledger& ledger);
  Result<SharedKernel> kernel(const KernelKind& kind);
  Result<SharedKernel> checked_kernel(const Device& device, const KernelKind& kind);  // built or recalled

  const Device device_;
  const cl::Context context_;
  const cl::CommandQueue queue_, own_queue_, upload_queue_;
  const pid_t pid_ = getpid();
  BufferCache buffers_;
  MadeOnce<KernelKind, SharedKernel> kernels_;
};

}  // namespace tensorstat::cl_engine
