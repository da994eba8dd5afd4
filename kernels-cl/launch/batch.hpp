// A batch under way on the device: one upload, one launch for each kernel and source, one read-back, and an event for
// the results. Nothing waits before `wait`. A device that runs in this address space needs no upload, no read-back and
// no memory of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tensorstat/partial.hpp>
#include <type_traits>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/launch/batch_layout.hpp"
#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/program/program.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/pair_layout.hpp"
#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat::cl_engine {

// Merges the words of a part into the partial of a tensor, or of two tensors. The part begins at element `first`. The
// indices of pairs count from the tensors' beginning already, and their maxima are plain.
inline void merge_words(Partial& into, std::span<const std::int64_t> from, std::uint64_t first, Maxima maxima) {
  merge(into.dtype(), into.words(), from, first, maxima);
}
inline void merge_words(PairPartial& into, std::span<const std::int64_t> from, std::uint64_t, Maxima) {
  merge(pair_layout(into.dtype_a(), into.dtype_b()), into.words(), from);
}

class Batch {
 public:
  using KernelOf = std::function<Result<std::shared_ptr<Kernel>>(const KernelKind&)>;

  // Enqueues everything behind `wait_list` and flushes the queue. Commands wait for one another by events, so the queue
  // may be out of order. Keeps `sources` until the batch is done. After an error nothing is under way. The exception is
  // Code::kInUse: then the device may still read the pieces.
  static Result<std::unique_ptr<Batch>> enqueue(const Device& device, BufferCache& buffers,
                                                const cl::CommandQueue& queue, std::vector<Piece> pieces,
                                                const KernelOf& kernel_of, std::span<const cl_event> wait_list,
                                                std::vector<cl::Buffer> sources = {});
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  // Waits for what is under way, because the device writes into this object's memory.
  ~Batch();

  // Waits as the destructor does. False: it is not known when the device ends, and the memory is never freed.
  bool close() noexcept;

  cl_event event() const { return done_(); }
  std::uint64_t device_bytes() const { return workspace_.bytes; }

  // Waits for this batch only. Also an error if a kernel left no result, though no call failed. Errors as of `enqueue`.
  Status wait();

  // After a successful wait: merges each piece into the Partial, or PairPartial, of its job: `partial_of(job)`.
  template <typename PartialOf>
  void merge_into(const PartialOf& partial_of) const {
    for (const BatchLayout::Target& target : layout_.targets()) {
      auto& partial = partial_of(target.job);
      const std::span<const std::int64_t> words(image_.get() + target.words_at, partial.words().size());
      merge_words(partial, words, target.first_element, layout_.maxima());
    }
    if constexpr (std::is_same_v<std::invoke_result_t<PartialOf, std::size_t>, Partial&>) {
      if (layout_.bins().empty()) return;
      BinCounter counter;
      for (const BatchLayout::Bins& bins : layout_.bins()) merge_bins(bins, counter, partial_of(bins.job));
    }
  }

  // Waits and merges.
  template <typename AnyPartial>
  Status collect(std::span<AnyPartial> partials) {
    if (Status status = wait(); !status) return status;
    merge_into([&](std::size_t job) -> AnyPartial& { return partials[job]; });
    return {};
  }

 private:
  Batch(const Device& device, BufferCache& buffers, const cl::CommandQueue& queue, std::vector<Piece> pieces,
        std::vector<cl::Buffer> sources);
  void merge_bins(const BatchLayout::Bins& bins, BinCounter& counter, Partial& partial) const;
  Status start(const Device& device, std::span<const std::shared_ptr<Kernel>> kernels,
               std::span<const cl_event> wait_list);
  cl_int launch(const Device& device, const BatchLayout::Launch& launch, Kernel& kernel,
                std::span<const cl_event> before, cl_event* folded) const;
  Error give_up(Error why);
  bool settle() noexcept;
  bool results_are_there() const;
  std::uint64_t image_address() const { return reinterpret_cast<std::uintptr_t>(image_.get()); }

  BatchLayout layout_;
  BufferCache& buffers_;
  const cl::CommandQueue queue_;
  const std::vector<cl::Buffer> sources_;
  std::unique_ptr<std::int64_t[]> image_;  // the workspace, or the host's copy of it
  BufferCache::Buffer workspace_{};
  std::vector<cl::Event> commands_{};  // the commands that were enqueued; empty once all are known to have ended
  cl::Event done_{};
  std::size_t launched_ = 0;
};

}  // namespace tensorstat::cl_engine
