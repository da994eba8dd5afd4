#include "kernels-cl/cuda/gpu_board.hpp"

#include <utility>

namespace tensorstat::cl_engine {

GpuBoard::GpuBoard(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted)
    : lanes_(lanes),
      gpu_(std::move(gpu)),
      lane_(std::move(lane)),
      folds_(lanes, gpu_, lane_->device(), wanted),
      steps_([this] { return GpuSheet::make(*gpu_, *lane_); }, [this] { return lanes_.forked(); },
             [this] { return lanes_.forked(); }) {}

Task GpuFolds::Maker::task_of(const Tensor& tensor) const {
  Task made = task;
  made.operands[0] = tensor;
  return made;
}

Result<GpuFolds::Maker> GpuFolds::get(Dtype dtype) {
  return makers_.get(dtype, [&] { return make(dtype); });
}

// On a lane of its own: the caller's is in use.
Result<GpuFolds::Maker> GpuFolds::make(Dtype dtype) {
  Partial partial(dtype, wanted_.precision, wanted_.needs, wanted_.cast_scale);
  const Task task = cl_engine::task_of(Job{{.dtype = dtype}, &partial});
  const auto lane = lanes_.lend({&gpu_->driver(), device_});
  if (!lane) return lane.error();
  const auto kernel = gpu_->kernel(**lane, task.kind);
  if (!kernel) return kernel.error();
  return Maker{task, *kernel};
}

Result<DeviceBoard::Fold> GpuBoard::fold(const Tensor& tensor) {
  const auto maker = folds_.get(tensor.dtype);
  if (!maker) return maker.error();
  const Task task = maker->task_of(tensor);
  return steps_.fold([&](Sheet& sheet) { return static_cast<GpuSheet&>(sheet).fold(task, maker->kernel); });
}

}  // namespace tensorstat::cl_engine
