// The memory of one step of a board: a partial for each fold, and the slices that the kernels are given. What a step
// has made serves later steps: a tensor of the same dtype, offset and length is one launch, without an upload. Here is
// where everything lies; a driver's sheet has the memory and enqueues the commands.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "kernels-cl/launch/batch_layout.hpp"

namespace tensorstat::cl_engine {

// Not thread-safe.
class Sheet {
 public:
  // A driver's sheet waits in its destructor until the device does not use the memory any more.
  virtual ~Sheet() = default;
  Sheet(const Sheet&) = delete;
  Sheet& operator=(const Sheet&) = delete;

  // Enqueues the upload of empty partials, for a sheet that has served a step before. After an error it serves no more.
  virtual Status open();

  // Enqueues the copy of all partials to the host. No fold may follow before open().
  virtual void close() noexcept = 0;
  // Waits for that copy. An error, or false: nothing of the sheet can be used.
  Status wait() { return come_to_end() ? Status{} : Status(failure()); }
  virtual bool come_to_end() noexcept = 0;

  // After wait(): merges a fold into an empty partial.
  Status merge_into(std::size_t fold, Partial& partial) const;

  // After wait(), on any thread: makes the partials empty. False: throw the sheet away.
  bool clear();

  virtual std::uint64_t held_bytes() const = 0;

 protected:
  // Partials grow from the beginning of a page, slices from its end.
  struct Page {
    std::int64_t* image = nullptr;  // the page, or the host's copy of it
    std::size_t words = 0, partials_end = 0, slices_begin = 0;
  };
  struct Launch {
    std::size_t slices_at, partials_at, slices;  // in words from the page's start
  };

  // `device` outlives it.
  explicit Sheet(const Device& device) : device_(device) {}

  // Has the fold of a tensor enqueued, launch by launch, and returns the fold's number. `first_byte`: where the kernel
  // is to begin in the source that a launch names. Keeps neither `task`, which needs no partial here, nor `enqueue`.
  // After an error the sheet may go on.
  using Enqueue = std::function<Status(std::size_t page, const Launch& launch)>;
  Result<std::size_t> fold(const Task& task, std::uint64_t first_byte, const Enqueue& enqueue);

  // Makes the memory of the next page: `bytes` or, if the budget leaves less, at least `least` bytes. On an error
  // nothing was made.
  virtual Result<Page> make_page(std::uint64_t bytes, std::uint64_t least) = 0;
  // Enqueues the copy of these words of a page to the device.
  virtual Status upload(std::size_t page, std::size_t first, std::size_t end, const char* what) = 0;
  // The page's address for kernels: 0 if they are given it as an argument.
  virtual std::uint64_t base_of(const Page& /*page*/) const { return 0; }
  // Whether commands may still use the memory.
  virtual bool is_under_way() const = 0;
  // Whether a call failed behind which nothing of the sheet can be used, and that failure.
  virtual bool has_failed() const = 0;
  virtual Error failure() const = 0;

  const std::vector<Page>& pages() const { return pages_; }
  // merge_into() from other copies of the pages.
  Status merge_from(std::span<std::int64_t* const> images, std::size_t fold, Partial& partial) const;
  // Whether the kernels of all folds of this step have left their results on the host.
  bool results_are_there() const;

  const Device& device_;

 private:
  // Where one tensor is folded to.
  struct Spot {
    std::size_t page = 0;
    std::vector<Launch> launches{};
    std::vector<BatchLayout::Target> targets{};  // in words from the page's start
    std::size_t partial_words = 0;
    Maxima maxima = Maxima::kPlain;
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

  Result<std::size_t> page_for(std::size_t words);
  Result<std::size_t> make_spot(const Task& task, std::uint64_t first_byte);
  static bool is_written(const Spot& spot, std::int64_t* image);
  void empty(const Spot& spot);

  std::vector<Page> pages_;
  std::vector<Spot> spots_;
  std::map<Key, Shelf> shelves_;
  std::size_t used_ = 0;  // spots in this step
  bool is_full_ = false;
};

}  // namespace tensorstat::cl_engine
