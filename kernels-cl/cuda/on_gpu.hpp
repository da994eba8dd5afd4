// One GPU of CUDA's driver: its kernels, the memory of its batches, and their launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/cuda/ptx.hpp"
#include "kernels-cl/launch/batch_layout.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "stats/core/engine/gpu/lane.hpp"
#include "stats/core/engine/ledger.hpp"

namespace tensorstat::cl_engine {

// Whether all bytes of the tensor are allocated. Called in inside(): the driver tells it only in a context.
bool is_allocated(const gpu::Driver& driver, const Tensor& tensor);
inline constexpr const char* kIsNotAllocated = "it reaches beyond what is allocated";

// The kernels are the PTX of ptx.hpp, launched on the stream of a lane of this GPU. The memory of batches is used
// again. Thread-safe; a lane is used by one thread.
class OnGpu {
 public:
  OnGpu(const gpu::Driver& driver, int device, Ledger& ledger) : driver_(driver), device_(device), ledger_(ledger) {}
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  Status open(gpu::Lane& lane);
  const Device& device() const { return traits_; }
  const gpu::Driver& driver() const { return driver_; }
  gpu::Handle context() const { return context_; }
  Error failure(const gpu::Called& called, const std::string& doing) const;

  // The function of a kernel that has passed its check. Made once; an error stays, unless memory was missing.
  Result<gpu::Handle> kernel(gpu::Lane& lane, const KernelKind& kind);

  // Folds the pieces in batches, and calls `take` with the words of each partial and its piece's job.
  using Take = std::function<void(const BatchLayout::Target& target, std::span<const std::int64_t> words)>;
  using KernelOf = std::function<Result<gpu::Handle>(const KernelKind& kind)>;
  Status fold(gpu::Lane& lane, std::span<const Piece> pieces, const KernelOf& kernel_of, const Take& take,
              std::uint64_t& held_bytes);

  // The words of a batch or a board, on the device and in pinned host memory.
  struct Workspace {
    std::uint64_t on_device = 0;
    void* on_host = nullptr;
    std::uint64_t bytes = 0;
  };
  // At least `bytes`. Used again, or allocated, which may wait for the GPU.
  Result<Workspace> take_workspace(gpu::Lane& lane, std::uint64_t bytes);
  // `is_quiet`: nothing uses it any more. Else it is kept until the end.
  void give_back(const Workspace& workspace, bool is_quiet) noexcept;

  gpu::Called launch(gpu::Handle kernel, std::size_t groups, gpu::Handle stream, void** arguments) const;

 private:
  static constexpr std::uint64_t kLeastWorkspace = std::uint64_t{1} << 20, kMostWorkspace = std::uint64_t{32} << 20;

  Result<gpu::Handle> made_kernel(gpu::Lane& lane, const KernelKind& kind);
  Status fold_batch(gpu::Lane& lane, std::vector<Piece> pieces, const KernelOf& kernel_of, const Take& take,
                    std::uint64_t& held_bytes);
  gpu::Called launch(const BatchLayout& layout, const BatchLayout::Launch& each, gpu::Handle kernel,
                     std::uint64_t workspace, gpu::Handle stream) const;
  void free(const Workspace& workspace) const;

  const gpu::Driver driver_;
  const int device_;
  Ledger& ledger_;
  gpu::Handle context_ = nullptr;
  CudaGpu gpu_;
  Device traits_;
  MadeOnce<KernelKind, Result<gpu::Handle>> kernels_;
  std::mutex mutex_;
  std::vector<gpu::Handle> modules_;
  std::vector<Workspace> idle_, in_doubt_;
  std::size_t workspaces_ = 0;
};

}  // namespace tensorstat::cl_engine
