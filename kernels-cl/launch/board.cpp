#include "kernels-cl/launch/board.hpp"

#include <utility>

#include "kernels-cl/launch/cl_sheet.hpp"
#include "kernels-cl/launch/context_set.hpp"

namespace tensorstat::cl_engine {

Board::Board(QueueContext& queue_context, const Wanted& wanted)
    : context_(queue_context),
      wanted_(wanted),
      steps_([this] { return std::unique_ptr<Sheet>(std::make_unique<ClSheet>(context_)); },
             [this] { return context_.forked(); }, [this] { return context_.must_abandon(); }) {}

Result<std::unique_ptr<DeviceBoard>> Board::open(QueueContext& queue_context, const Wanted& wanted) {
  const cl::CommandQueue& queue = queue_context.queue();
  if (!queue_context.has_callers_queue()) return Error{Code::kUnsupported, "no queue of the caller's is given"};
  cl_int code = CL_SUCCESS;
  const auto properties = queue.getInfo<CL_QUEUE_PROPERTIES>(&code);
  if (code != CL_SUCCESS) return error("asking the caller's queue for its order", "clGetCommandQueueInfo", code);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    return Error{Code::kUnsupported, "commands of the queue may overtake each other"};
  }
  return std::unique_ptr<DeviceBoard>(new Board(queue_context, wanted));
}

Result<Board::Maker> Board::make_maker(Dtype dtype) {
  Partial partial(dtype, wanted_.precision, wanted_.needs, wanted_.cast_scale);
  const Task task = task_of(Job{{.dtype = dtype}, &partial});
  auto kernel = context_.kernel(task.kind);
  if (!kernel) return kernel.error();
  return Maker{task, *std::move(kernel)};
}

Result<DeviceBoard::Fold> Board::fold(const Tensor& tensor) {
  if (context_.forked()) return QueueContext::forked_error();
  if (std::string refusal = context_.refusal(tensor, wanted_.precision); !refusal.empty()) {
    return Error{Code::kUnsupported, std::move(refusal)};
  }
  KnownBuffer known;
  if (Status status = check_context(context_, tensor, known); !status) return status.error();
  if (Status status = context_.check(tensor, known); !status) return status.error();
  const auto maker = makers_.get(tensor.dtype, [&] { return make_maker(tensor.dtype); });
  if (!maker) return maker.error();
  Task task = maker->task;
  task.operands[0] = tensor;
  return steps_.fold([&](Sheet& sheet) { return static_cast<ClSheet&>(sheet).fold(task, *maker->kernel); });
}

}  // namespace tensorstat::cl_engine
