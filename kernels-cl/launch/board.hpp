// A board on a caller's queue: each step has a sheet of memory, and sheets are used again.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/launch/queue_context.hpp"
#include "kernels-cl/launch/sheet.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

class Board final : public DeviceBoard {
 public:
  // `queue_context` outlives it.
  static Result<std::unique_ptr<DeviceBoard>> open(QueueContext& queue_context, const Wanted& wanted);
  ~Board() override;

  Result<Fold> fold(const Tensor& tensor) override;
  void end_step() override;

 private:
  class Step;
  // All folds of a dtype share it.
  struct Maker {
    Task task;  // of no tensor
    std::shared_ptr<Kernel> kernel;
  };

  Board(QueueContext& queue_context, const Wanted& wanted) : context_(queue_context), wanted_(wanted) {}
  Status check_context(const Tensor& tensor) const;
  Result<const Maker*> maker(Dtype dtype);
  Result<std::shared_ptr<Step>> step();
  void take_back(std::unique_ptr<Sheet> sheet) noexcept;

  QueueContext& context_;
  const Wanted wanted_;
  std::mutex makers_mutex_;
  std::map<Dtype, Maker> makers_;  // entries stay where they are
  std::mutex mutex_;               // of what follows, and of the open step's sheet
  std::vector<std::unique_ptr<Sheet>> spare_;
  std::shared_ptr<Step> open_;
  std::size_t steps_ = 0;
};

}  // namespace tensorstat::cl_engine
