// The boards on the GPUs of CUDA's driver.
#pragma once

#include <memory>

#include "kernels-cl/cuda/gpu_sheet.hpp"
#include "kernels-cl/launch/steps.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

// A board on one GPU. Thread-safe.
class GpuBoard final : public DeviceBoard {
 public:
  // `lanes` outlives it.
  GpuBoard(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted);

  // `tensor` is in this GPU's memory. Its fold runs on its own stream.
  Result<Fold> fold(const Tensor& tensor) override;
  void end_step() override { steps_.end(); }

 private:
  // All folds of a dtype share it.
  struct Maker {
    Task task;  // of no tensor
    gpu::Handle kernel;
  };
  Result<Maker> make_maker(Dtype dtype);

  gpu::Lanes& lanes_;
  const std::shared_ptr<OnGpu> gpu_;
  const gpu::Lanes::Lent lane_;
  const Wanted wanted_;
  MadeOnce<Dtype, Maker> makers_;
  Steps steps_;  // destroyed first
};

}  // namespace tensorstat::cl_engine
