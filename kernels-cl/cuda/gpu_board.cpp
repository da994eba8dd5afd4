#include "kernels-cl/cuda/gpu_board.hpp"

#include <utility>

namespace tensorstat::cl_engine {

GpuBoard::GpuBoard(gpu::Lanes& lanes, gpu::Lanes::Lent lane, std::shared_ptr<OnGpu> gpu, const Wanted& wanted)
    : lanes_(lanes),
      gpu_(std::move(gpu)),
      lane_(std::move(lane)),
      wanted_(wanted),
      steps_([this] { return GpuSheet::make(*gpu_, *lane_); }, [this] { return lanes_.forked(); }) {}

// On a lane of its own: the board's is in use.
Result<GpuBoard::Maker> GpuBoard::make_maker(Dtype dtype) {
  Partial partial(dtype, wanted_.precision, wanted_.needs, wanted_.cast_scale);
  const Task task = task_of(Job{{.dtype = dtype}, &partial});
  const auto lane = lanes_.lend({&gpu_->driver(), lane_->device()});
  if (!lane) return lane.error();
  const auto kernel = gpu_->kernel(**lane, task.kind);
  if (!kernel) return kernel.error();
  return Maker{task, *kernel};
}

Result<DeviceBoard::Fold> GpuBoard::fold(const Tensor& tensor) {
  const auto maker = makers_.get(tensor.dtype, [&] { return make_maker(tensor.dtype); });
  if (!maker) return maker.error();
  Task task = maker->task;
  task.operands[0] = tensor;
  return steps_.fold([&](Sheet& sheet) { return static_cast<GpuSheet&>(sheet).fold(task, maker->kernel); });
}

}  // namespace tensorstat::cl_engine
