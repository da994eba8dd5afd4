// Sheets on a GPU of CUDA's driver.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels-cl/cuda/on_gpu.hpp"
#include "kernels-cl/launch/sheet.hpp"

namespace tensorstat::cl_engine {

// The pages of this sheet are workspaces of a GPU.
class SheetOnGpu : public Sheet {
 public:
  std::uint64_t held_bytes() const override;

 protected:
  // Both outlive it.
  SheetOnGpu(OnGpu& gpu, gpu::Lane& lane) : Sheet(gpu.device()), gpu_(gpu), lane_(lane) {}

  Result<Page> make_page(std::uint64_t bytes, std::uint64_t least) override;

  // Folds a tensor in the GPU's context: `begin()`, then for each launch `prepare(page)` and the launch on `stream`, at
  // last `end()`, also behind a failed launch. `doing` begins the words of an error.
  template <typename Begin, typename Prepare, typename End>
  Result<std::size_t> fold_inside(const Task& task, gpu::Handle kernel, gpu::Handle stream, const char* doing,
                                  const Begin& begin, const Prepare& prepare, const End& end) {
    std::uint64_t source = source_of(task.operands[0]).first_byte;
    std::optional<Result<std::size_t>> number;
    std::exception_ptr thrown;  // nothing may leave inside()
    bool is_refused = false;
    const gpu::Called called = gpu_.driver().inside(gpu_.context(), [&]() -> gpu::Called {
      if (!is_allocated(gpu_.driver(), task.operands[0])) {
        is_refused = true;
        return {};
      }
      if (const gpu::Called begun = begin(); !begun) return begun;
      try {
        number.emplace(Sheet::fold(task, 0, [&](std::size_t page, const Launch& each) -> Status {
          gpu::Called done = prepare(page);
          std::uint64_t workspace = memory_[page].on_device, slices_at = each.slices_at * kWordBytes,
                        partials_at = each.partials_at * kWordBytes;
          std::array<void*, 4> arguments = {&source, &workspace, &slices_at, &partials_at};
          if (done) done = gpu_.launch(kernel, each.slices, stream, arguments.data());
          return done ? Status{} : Status(gpu_.failure(done, doing + device_.info.name));
        }));
      } catch (...) {
        thrown = std::current_exception();
      }
      return end();
    });
    if (thrown) std::rethrow_exception(thrown);
    if (is_refused) return Error{Code::kUnsupported, kIsNotAllocated};
    if (number && !*number) return *number;
    if (!called) return gpu_.failure(called, doing + device_.info.name);
    return *number;
  }

  OnGpu& gpu_;
  gpu::Lane& lane_;
  std::vector<OnGpu::Workspace> memory_;  // of each page
};

// A fold runs on its tensor's own stream. The lane's stream follows each of them, and has what belongs to no tensor:
// the emptying of a step's partials, on which the folds wait, and the copy of its results. Nothing here waits but
// come_to_end(), and a page that is made.
class GpuSheet final : public SheetOnGpu {
 public:
  // Both outlive it. The lane is used under the board's lock alone.
  static Result<std::unique_ptr<Sheet>> make(OnGpu& gpu, gpu::Lane& lane);
  // Waits as come_to_end() does.
  ~GpuSheet() override;

  // Enqueues the fold of a tensor in this GPU's memory, and returns the fold's number. kUnsupported: its stream is
  // being captured.
  Result<std::size_t> fold(const Task& task, gpu::Handle kernel);

  Status open() override;
  void close() noexcept override;
  bool come_to_end() noexcept override;

 private:
  GpuSheet(OnGpu& gpu, gpu::Lane& lane) : SheetOnGpu(gpu, lane) {}

  Status upload(std::size_t page, std::size_t first, std::size_t end, const char* what) override;
  bool is_under_way() const override { return is_under_way_ || is_in_doubt_; }
  bool has_failed() const override { return !failed_; }
  Error failure() const override { return gpu_.failure(failed_, "reading a board"); }

  gpu::Called wait_for_opening();

  gpu::Handle opened_ = nullptr, closed_ = nullptr;  // events on the lane's stream
  gpu::Handle stream_ = nullptr;                     // of the tensor that is being folded, or the lane's
  bool is_opening_ = false;                          // `opened_` was not seen to be over
  bool is_under_way_ = false, has_closed_ = false;
  bool is_in_doubt_ = false;  // something may run that the lane does not follow: the memory is not used again
  gpu::Called failed_;        // the call of close() or come_to_end() that failed
};

}  // namespace tensorstat::cl_engine
