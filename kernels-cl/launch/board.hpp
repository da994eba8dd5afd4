// A board on a caller's queue.
#pragma once

#include <memory>

#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/launch/steps.hpp"
#include "kernels-cl/program/made_once.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

class Board final : public DeviceBoard {
 public:
  // `queue_context` outlives it.
  static Result<std::unique_ptr<DeviceBoard>> open(QueueContext& queue_context, const Wanted& wanted);

  Result<Fold> fold(const Tensor& tensor) override;
  void end_step() override { steps_.end(); }

 private:
  // All folds of a dtype share it.
  struct Maker {
    Task task;  // of no tensor
    std::shared_ptr<Kernel> kernel;
  };

  Board(QueueContext& queue_context, const Wanted& wanted);
  Result<Maker> make_maker(Dtype dtype);

  QueueContext& context_;
  const Wanted wanted_;
  MadeOnce<Dtype, Maker> makers_;
  Steps steps_;
};

}  // namespace tensorstat::cl_engine
