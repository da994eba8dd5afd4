// A sheet behind a caller's OpenCL queue.
#pragma once

#include <memory>
#include <vector>

#include "kernels-cl/launch/buffer_cache.hpp"
#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/launch/sheet.hpp"

namespace tensorstat::cl_engine {

// The queue is in order: a sheet counts on that, and keeps no event of a launch.
class ClSheet final : public Sheet {
 public:
  // `queue_context` outlives it, and its queue() is the caller's.
  explicit ClSheet(QueueContext& queue_context) : Sheet(queue_context.device()), context_(queue_context) {}
  // Waits as Batch does.
  ~ClSheet() override;

  // Enqueues the fold of a tensor in a cl_mem, and returns the fold's number. Keeps no `kernel`.
  Result<std::size_t> fold(const Task& task, Kernel& kernel);

  Status open() override {
    done_.clear();
    return Sheet::open();
  }
  void close() noexcept override;
  bool come_to_end() noexcept override;
  std::uint64_t held_bytes() const override;

 private:
  struct Memory {
    BufferCache::Buffer buffer{};  // empty if kernels work on `image`
    std::unique_ptr<std::int64_t[]> image{};
  };

  bool in_place() const { return device_.pointers == Pointers::kSameSpace; }
  std::uint64_t base_of(const Page& page) const override {
    return in_place() ? reinterpret_cast<std::uintptr_t>(page.image) : 0;
  }
  Result<Page> make_page(std::uint64_t bytes, std::uint64_t least) override;
  Status upload(std::size_t page, std::size_t first, std::size_t end, const char* what) override;
  bool is_under_way() const override { return is_under_way_; }
  bool has_failed() const override { return code_ != CL_SUCCESS; }
  Error failure() const override;
  Status launch(std::size_t page, const Launch& each, cl_mem source, Kernel& kernel);
  void settle() noexcept;

  QueueContext& context_;
  std::vector<Memory> memory_;   // of each page
  std::vector<cl::Event> done_;  // of close()
  bool is_under_way_ = false;    // commands were enqueued and not waited for
  // The call of close() or come_to_end() that failed.
  cl_int code_ = CL_SUCCESS;
  const char* call_ = "";
  bool is_in_use_ = false;  // it is not known whether the device has ended
};

}  // namespace tensorstat::cl_engine
