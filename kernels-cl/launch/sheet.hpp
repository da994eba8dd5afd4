// The memory of one step of a board: a partial for each fold, and the slices that the kernels are given. What a step
// has made serves later steps: a tensor of the same dtype, offset and length is one launch, without an upload.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels-cl/launch/batch_layout.hpp"
#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/launch/queue_context.hpp"

namespace tensorstat::cl_engine {

// Not thread-safe. The queue is in order: a sheet counts on that, and keeps no event of a launch.
class Sheet {
 public:
  // `queue_context` outlives it, and its queue() is the caller's.
  explicit Sheet(QueueContext& queue_context) : context_(queue_context) {}
  // Waits until the device does not use this memory any more, as Batch does.
  ~Sheet();
  Sheet(const Sheet&) = delete;
  Sheet& operator=(const Sheet&) = delete;

  // Enqueues the upload of empty partials, for a sheet that has served a step before. After an error it serves no more.
  Status open();

  // Enqueues the fold of a tensor in a cl_mem, and returns the fold's number. The sheet keeps neither `task`, which
  // needs no partial here, nor `kernel`. After an error the sheet may go on.
  Result<std::size_t> fold(const Task& task, Kernel& kernel);

  // Enqueues the copy of all partials to the host. No fold may follow before open().
  void close() noexcept;
  // Waits for that copy. An error, or false: nothing of the sheet can be used.
  Status wait();
  bool come_to_end() noexcept;

  // After wait(): merges a fold into an empty partial.
  Status merge_into(std::size_t fold, Partial& partial) const;

  // After wait(), on any thread: makes the partials empty. False: throw the sheet away.
  bool clear();

  std::uint64_t held_bytes() const;

 private:
  // Partials grow from the beginning of a page, slices from its end.
  struct Page {
    BufferCache::Buffer memory{};             // empty if kernels work on `image`
    std::unique_ptr<std::int64_t[]> image{};  // the page, or the host's copy of it
    std::size_t words = 0, partials_end = 0, slices_begin = 0;
  };
  struct Launch {
    std::size_t slices_at, partials_at, slices;  // in words from the page's start
  };
  // Where one tensor is folded to.
  struct Spot {
    std::size_t page = 0;
    std::vector<Launch> launches{};
    std::vector<BatchLayout::Target> targets{};  // in words from the page's start
    std::size_t partial_words = 0;
    Dtype dtype = Dtype::kFloat32;
  };
  struct Key {
    KernelKind kind;
    std::uint64_t first_byte, count;
    auto operator<=>(const Key&) const = default;
  };
  // The spots of equal tensors, and how many of them this step has used.
  struct Shelf {
    std::vector<std::size_t> spots{};
    std::size_t used = 0;
  };

  bool in_place() const { return context_.device().pointers == Pointers::kSameSpace; }
  std::uint64_t base_of(const Page& page) const {
    return in_place() ? reinterpret_cast<std::uintptr_t>(page.image.get()) : 0;
  }
  Result<std::size_t> page_for(std::size_t words);
  Result<std::size_t> make_spot(const Task& task);
  Status upload(const Page& page, std::size_t first, std::size_t end, const char* what);
  Status launch(const Spot& spot, cl_mem source, Kernel& kernel);
  bool results_are_there() const;
  void settle() noexcept;
  Error failure() const;
  bool is_written(const Spot& spot) const;
  void empty(const Spot& spot);

  QueueContext& context_;
  std::vector<Page> pages_;
  std::vector<Spot> spots_;
  std::map<Key, Shelf> shelves_;
  std::vector<cl::Event> done_;  // of close()
  std::size_t used_ = 0;         // spots in this step
  bool is_under_way_ = false;    // commands were enqueued and not waited for
  bool is_full_ = false;
  // The call of close() or wait() that failed.
  cl_int code_ = CL_SUCCESS;
  const char* call_ = "";
  bool is_in_use_ = false;  // it is not known whether the device has ended
};

}  // namespace tensorstat::cl_engine
