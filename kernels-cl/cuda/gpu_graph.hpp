// Folds in a captured CUDA graph on one GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/cuda/gpu_board.hpp"
#include "kernels-cl/launch/sheet.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

// The memory of a graph. A replay begins with the upload of each page as it is on the host, where partials are empty,
// and its folds write to the device alone. Nothing here waits, but memory is allocated during the capture.
class GraphSheet final : public SheetOnGpu {
 public:
  GraphSheet(OnGpu& gpu, gpu::Lane& lane) : SheetOnGpu(gpu, lane) {}
  // The OnGpu keeps the memory until its end, because a replay may be under way.
  ~GraphSheet() override;

  // Adds the fold to the capture that its tensor's stream is in.
  Result<std::size_t> fold(const Task& task, gpu::Handle kernel);
  // The bytes of all pages' partials.
  std::uint64_t result_bytes() const;
  // Enqueues the copy of all partials to `to`.
  gpu::Called copy_results(std::byte* to, gpu::Handle stream) const;
  // Merges a fold from such a copy into an empty partial.
  Status merge_copied(std::byte* results, std::size_t fold, Partial& partial) const;

 private:
  struct Upload {
    gpu::Handle begins_on = nullptr, begun = nullptr;  // the stream that has it, and the event behind it
  };

  void close() noexcept override {}
  bool come_to_end() noexcept override { return true; }
  Status upload(std::size_t, std::size_t, std::size_t, const char*) override { return {}; }  // each replay does
  bool is_under_way() const override { return true; }
  bool has_failed() const override { return false; }
  Error failure() const override { return {Code::kDevice, ""}; }

  gpu::Called begin_page(std::size_t page, gpu::Handle stream);

  std::vector<Upload> uploads_;  // of each page
};

// Thread-safe. Its replays keep it.
class GpuGraph final : public DeviceGraph, public std::enable_shared_from_this<GpuGraph> {
 public:
  // `lanes` outlives it.
  GpuGraph(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted);
  ~GpuGraph() override;

  gpu::Handle context() const { return gpu_->context(); }

  // `tensor` is in this GPU's memory.
  Result<std::size_t> fold(const Tensor& tensor) override;
  Result<std::shared_ptr<DeviceStep>> replayed(void* stream) override;

 private:
  class Replay;
  // Pinned memory for the results of a replay.
  struct Mirror {
    void* memory = nullptr;
    gpu::Handle copied = nullptr;  // an event
  };
  Result<Mirror> take_mirror(std::uint64_t bytes);
  void give_back(const Mirror& mirror, bool is_quiet) noexcept;
  void free(Mirror mirror) const;

  gpu::Lanes& lanes_;
  const std::shared_ptr<OnGpu> gpu_;
  const gpu::Lanes::Lent lane_;
  GpuFolds folds_;
  std::mutex mutex_;  // of what follows, and of the lane
  std::uint64_t capture_ = 0;
  bool is_complete_ = false;
  std::unique_ptr<GraphSheet> sheet_;
  std::vector<Mirror> spare_, in_doubt_;
  std::size_t replays_ = 0;  // whose steps are there
};

}  // namespace tensorstat::cl_engine
