// Host memory on its way to a device that does not read it where it lies: a few windows of device memory,
// each filled, folded and filled again, so that the copying of one overlaps the folding of another. Small
// tensors are packed, many to an upload and a launch; large ones pass through in parts.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "kernels-cl/launch/queue_context.hpp"

namespace tensorstat::cl_engine {

// Less than this is packed on the host first: a command costs more than the copy.
inline constexpr std::uint64_t kWorthACommandBytes = std::uint64_t{64} << 10;

class UploadRing {
 public:
  static constexpr std::uint64_t kSpacingBytes = 64;  // what a tensor may take in a window beside its own

  // For tasks of one tensor or of two, as `kind`, and about `total_bytes` of them, as far as they are known. Windows
  // and the workspaces of their batches stay within what the buffer cache has room for now; kOverBudget where that is
  // nothing.
  static Result<std::unique_ptr<UploadRing>> open(QueueContext& queue_context, const KernelKind& kind,
                                                  std::uint64_t total_bytes, QueueContext::Merge merge);
  UploadRing(const UploadRing&) = delete;
  UploadRing& operator=(const UploadRing&) = delete;
  // Waits for what is under way; what was added is not read any more, unless that cannot be told.
  ~UploadRing();

  // The first error of any of these ends the ring, and nothing that was added is read any more, unless it is
  // Code::kInUse. Some of it may be in the partials.

  // Uploads a tensor in host memory and has it folded; waits only where every window is in use. Its bytes must stay
  // until `release` or `finish`. Of two tensors, one that the device reads where it is stays there.
  Status add(const Task& task, std::size_t job);

  // Waits until nothing that was added is read any more, though it may be folded later.
  Status release();

  // Waits until all is in the partials.
  Status finish();

  // The most device memory that it held at a time, so far.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Window {
    BufferCache::Buffer memory;
    std::uint64_t used_bytes = 0, sent_bytes = 0;  // what lies between is packed in `memory.host`
    std::uint64_t workspace_bytes = 0;
    std::vector<Piece> pieces;
    std::unique_ptr<Batch> batch;  // null unless one is under way
  };
  static constexpr std::size_t kWindows = 3;

  UploadRing(QueueContext& queue_context, const KernelKind& kind, QueueContext::Merge merge)
      : queue_context_(queue_context),
        queue_(kind.beside ? queue_context.queue() : queue_context.own_queue()),
        merge_(std::move(merge)) {}
  bool is_sent(const Task& task, const Tensor& tensor) const;
  std::uint64_t elements_for(const Task& task, std::uint64_t left, std::uint64_t room) const;
  Status put_in_windows(const Task& task, std::size_t job);
  Status drain();
  // After an error: has everything come to rest, and gives the windows up.
  Status give_up(Status why);
  // Without words; false: an upload may still read what was added.
  bool settle(bool batches_ended) noexcept;
  // Takes `bytes` into the window that is being filled; where they are few, they are sent with others.
  Status put(const std::byte* from, std::uint64_t bytes);
  Status send(const std::byte* from, std::uint64_t at, std::uint64_t bytes);
  Status send_packed();
  // Folds the window that is being filled, and has the oldest empty for what comes.
  Status turn();
  Status collect(Window& window);

  QueueContext& queue_context_;
  const cl::CommandQueue& queue_;  // of the folds: the caller's for two tensors, as it may still write one of them
  const QueueContext::Merge merge_;
  std::vector<Window> windows_;
  std::size_t filling_ = 0;
  std::uint64_t window_bytes_ = 0, most_workspace_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
  cl::Event sent_;  // the last command of an upload, which has not been waited for; they run in order
};

}  // namespace tensorstat::cl_engine
