// Uploads host memory to a device that cannot read it in place. The ring has a few slots, which are staging buffers in
// device memory. Each is filled, folded and filled again, so that copies and folds overlap. Small tensors are packed,
// many to an upload and a launch. Large ones pass in parts.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels-cl/launch/queue_context.hpp"

namespace tensorstat::cl_engine {

// Smaller tensors are packed on the host first, because a command costs more than the copy.
inline constexpr std::uint64_t kWorthACommandBytes = std::uint64_t{64} << 10;

class UploadRing {
 public:
  static constexpr std::uint64_t kSpacingBytes = 64;  // tensors in a slot begin at a multiple of this

  // For tasks of one tensor or two, as `kind` says. `total_bytes`: about how many bytes will be added, if that is
  // known. Slots and the workspaces of their batches stay within the present room of the buffer cache. kOverBudget if
  // there is none.
  static Result<std::unique_ptr<UploadRing>> open(QueueContext& queue_context, const KernelKind& kind,
                                                  std::uint64_t total_bytes, QueueContext::Merge merge);
  UploadRing(const UploadRing&) = delete;
  UploadRing& operator=(const UploadRing&) = delete;
  // Waits for what is under way. Afterwards nothing reads the tensors that were added, unless the driver fails to tell.
  ~UploadRing();

  // The first error of add, release or finish ends the ring. Then nothing reads the added tensors any more, unless the
  // error is Code::kInUse. Parts of them may have been merged.

  // Uploads a tensor in host memory and folds it. Waits only if every slot is in use. The tensor's bytes must stay
  // until `release` or `finish`. In a pair, a tensor that the device reads in place is not uploaded.
  Status add(const Task& task, std::size_t job);

  // Waits until nothing reads the added tensors any more. They may be folded later.
  Status release();

  // Waits until everything is in the partials.
  Status finish();

  // The most device memory that the ring has held at a time so far.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Slot {
    BufferCache::Buffer memory;
    std::uint64_t used_bytes = 0, sent_bytes = 0;  // bytes [sent, used) are packed in `memory.host`, and not yet sent
    std::uint64_t workspace_bytes = 0;
    std::vector<Piece> pieces;
    std::unique_ptr<Batch> batch;  // null unless a batch is under way
  };
  static constexpr std::size_t kSlots = 3;

  UploadRing(QueueContext& queue_context, const KernelKind& kind, QueueContext::Merge merge)
      : queue_context_(queue_context),
        queue_(kind.beside ? queue_context.queue() : queue_context.own_queue()),
        merge_(std::move(merge)) {}
  bool is_sent(const Task& task, const Tensor& tensor) const;
  std::uint64_t elements_for(const Task& task, std::uint64_t left, std::uint64_t room) const;
  Status stage(const Task& task, std::size_t job);
  Status drain();
  // After an error: waits for everything, frees the slots and returns the error.
  Status give_up(Status why);
  // The same without an error. False: an upload may still read the tensors that were added.
  bool settle(bool batches_ended) noexcept;
  // Puts `bytes` bytes into the slot that is being filled. Few bytes are packed and sent with others.
  Status put(const std::byte* from, std::uint64_t bytes);
  Status send(const std::byte* from, std::uint64_t offset, std::uint64_t bytes);
  Status send_packed();
  // Folds the slot that is being filled. Then empties the next slot, the oldest one, to be filled.
  Status turn();
  Status collect(Slot& slot);

  QueueContext& queue_context_;
  const cl::CommandQueue&
      queue_;  // for folds. For pairs the caller's: its earlier commands may write one of the tensors
  const QueueContext::Merge merge_;
  std::vector<Slot> slots_;
  std::size_t filling_ = 0;
  std::uint64_t slot_bytes_ = 0, most_workspace_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  cl::Event sent_;  // the last upload, if it was not waited for; uploads run in order
};

}  // namespace tensorstat::cl_engine
