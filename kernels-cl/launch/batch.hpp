// A batch on its way through the device: one upload, one launch for each dtype, needs and source, one
// read-back, and an event that tells when the results are there. Nothing waits before `wait`. What is read
// by its address is of one source; and a device that runs in this address space needs no upload, no
// read-back, and no memory of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/launch/program.hpp"
#include "stats/engine/pair_layout.hpp"
#include "stats/engine/quantile_bins.hpp"

namespace tensorstat::cl_engine {

// Part of a tensor, where the device reads it: `first_byte` of `source`, or, where that is null, the byte
// at the address `first_byte`. Its elements end up in the partial of job number `job`, the first as number
// `first_element` of that.
struct Piece {
  // As many elements of the tensor that it is compared with.
  struct Beside {
    cl_mem source;
    Dtype dtype;
    std::uint64_t first_byte;
    PairTolerance tolerance;  // of all pieces of a batch
  };

  cl_mem source;
  Dtype dtype;
  Needs needs;
  std::size_t job;
  std::uint64_t first_byte, count, first_element = 0;
  double cast_scale = 1;
  bool writes_codes = false;  // of quantiles: codes for the host to count, as the device would have more to hand back
  std::optional<Beside> beside{};

  KernelKind kind() const { return {dtype, needs, beside ? std::optional(beside->dtype) : std::nullopt}; }
  std::uint64_t element_bytes() const { return size_bytes(dtype) + (beside ? size_bytes(beside->dtype) : 0); }
};

// Cuts `count` elements into the pieces that a launch over `total_bytes` wants.
void cut(const Device& device, Piece whole, std::uint64_t total_bytes, std::vector<Piece>& pieces);

// Device bytes that a piece adds to its batch, behind the pieces that are there.
std::uint64_t workspace_bytes(const Device& device, std::span<const Piece> pieces, const Piece& piece);

class Batch {
 public:
  using KernelOf = std::function<Result<std::shared_ptr<Kernel>>(const KernelKind&)>;

  Batch() = default;
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;
  ~Batch();

  // Waits for what is under way, as the device writes into this object's memory; the destructor does so, too.
  // False where it cannot be told when that ends: then that memory is kept for ever.
  bool close() noexcept;

  // Enqueues everything behind `wait_list` and flushes the queue. Commands wait for one another by
  // events, so the queue may be out of order. `sources` are kept until the batch is done. After an error
  // nothing is under way, unless it is Code::kInUse: then the device may still read the pieces.
  static Result<Batch> enqueue(const Device& device, BufferCache& buffers, const cl::CommandQueue& queue,
                               std::vector<Piece> pieces, const KernelOf& kernel_of,
                               std::span<const cl_event> wait_list, std::vector<cl::Buffer> sources = {});

  cl_event event() const { return done_(); }
  std::uint64_t device_bytes() const { return workspace_.bytes; }

  // Waits for this batch alone. A kernel that was lost on the way is noticed, though no call may have failed.
  // Errors are those of `enqueue`.
  Status wait();

  // After a successful wait: merges each piece into the partial of its job, `partial_of(job)`.
  template <typename PartialOf>
  void merge_into(const PartialOf& partial_of) const {
    for (const Target& target : targets_) {
      Partial& partial = partial_of(target.job);
      const std::span<const std::int64_t> words(image_.get() + target.words_at, partial.words().size());
      merge(partial.dtype(), partial.words(), words, target.first_element);
    }
    if (bins_.empty()) return;
    BinCounter counter;
    for (const BinTarget& target : bins_) merge_bins(target, counter, partial_of(target.job));
  }

  // The same of pairs, whose partials hold tensors of those dtypes.
  template <typename PartialOf>
  void merge_pairs_into(const PartialOf& partial_of) const {
    for (const Target& target : targets_) {
      PairPartial& partial = partial_of(target.job);
      const std::span<const std::int64_t> words(image_.get() + target.words_at, partial.words().size());
      merge_pair(partial.dtype_a(), partial.dtype_b(), partial.words(), words);
    }
  }

  // Both.
  Status collect(std::span<Partial> results);
  Status collect(std::span<PairPartial> results);

 private:
  struct Launch {
    std::size_t first_piece, end_piece;
    std::size_t slices_at, partials_at;  // words from the workspace's start
    std::size_t words;                   // a partial
    std::size_t end_target;
  };
  struct Target {
    std::size_t job, words_at, count_at;
    std::uint64_t count, first_element;
  };

  // Of quantiles: what the device counts of pieces of a job, or the codes of a piece.
  struct BinTarget {
    std::size_t job, words_at;
    Dtype dtype;
    bool holds_codes;
    std::uint64_t count;
    std::size_t first_target, end_target;  // of the same elements
  };

  void lay_out(const Device& device);
  void merge_bins(const BinTarget& target, BinCounter& counter, Partial& partial) const;
  Status start(const Device& device, std::span<const std::shared_ptr<Kernel>> kernels,
               std::span<const cl_event> wait_list);
  cl_int launch(const Device& device, const Launch& launch, Kernel& kernel, std::span<const cl_event> before,
                cl_event* folded) const;
  Error give_up(Error why);
  bool settle() noexcept;
  bool results_are_there() const;
  void swap(Batch& other) noexcept;

  std::vector<Piece> pieces_;
  std::vector<Launch> launches_;
  std::vector<Target> targets_;
  std::vector<BinTarget> bins_;
  std::vector<cl::Buffer> sources_;
  std::unique_ptr<std::int64_t[]> image_;  // of the workspace: slices, then partials, then bins
  std::size_t partials_at_ = 0, bins_at_ = 0, image_words_ = 0;
  bool clears_bins_ = false;  // before the launches
  BufferCache* buffers_ = nullptr;
  BufferCache::Buffer workspace_;
  cl::CommandQueue queue_;
  std::vector<cl::Event> commands_;  // all that were enqueued; empty once they are known to have ended
  cl::Event done_;
  std::size_t launched_ = 0;
};

}  // namespace tensorstat::cl_engine
