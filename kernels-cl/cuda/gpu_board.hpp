// The boards on the GPUs of CUDA's driver.
#pragma once

#include <memory>
#include <utility>

#include "kernels-cl/cuda/gpu_sheet.hpp"
#include "kernels-cl/launch/steps.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

// The kernels for folds of single tensors on one GPU, one for each dtype. Thread-safe.
class GpuFolds {
 public:
  struct Maker {
    Task task;  // of no tensor
    gpu::Handle kernel;
    Task task_of(const Tensor& tensor) const;
  };
  // `lanes` outlives it.
  GpuFolds(gpu::Lanes& lanes, std::shared_ptr<OnGpu> gpu, int device, const Wanted& wanted)
      : lanes_(lanes), gpu_(std::move(gpu)), device_(device), wanted_(wanted) {}

  // Made once for each dtype.
  Result<Maker> get(Dtype dtype);

 private:
  Result<Maker> make(Dtype dtype);

  gpu::Lanes& lanes_;
  const std::shared_ptr<OnGpu> gpu_;
  const int device_;
  const Wanted wanted_;
  MadeOnce<Dtype, Maker> makers_;
};

// A board on one GPU. Thread-safe.
class GpuBoard final : public DeviceBoard {
 public:
  // `lanes` outlives it.
  GpuBoard(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted);

  // `tensor` is in this GPU's memory. Its fold runs on its own stream.
  Result<Fold> fold(const Tensor& tensor) override;
  void end_step() override { steps_.end(); }

 private:
  gpu::Lanes& lanes_;
  const std::shared_ptr<OnGpu> gpu_;
  const gpu::Lanes::Lent lane_;
  GpuFolds folds_;
  Steps steps_;  // destroyed first
};

}  // namespace tensorstat::cl_engine
