#include "kernels-cl/launch/board.hpp"

#include <atomic>
#include <utility>

#include "kernels-cl/launch/context_set.hpp"
#include "stats/core/base/abandon.hpp"

namespace tensorstat::cl_engine {
namespace {

// More sheets than this are kept only while steps use them.
constexpr std::size_t kMostSpare = 3;
// Steps that may be under way, or have tickets.
constexpr std::size_t kMostSteps = 64;

}  // namespace

class Board::Step final : public DeviceStep {
 public:
  Step(Board& board, std::unique_ptr<Sheet> sheet) : board_(board), sheet_(std::move(sheet)) {}
  ~Step() override { board_.take_back(std::move(sheet_)); }

  Sheet& sheet() { return *sheet_; }
  void end() {
    sheet_->close();
    has_ended_ = true;
  }

  Status wait() override {
    if (board_.context_.forked()) return QueueContext::forked_error();
    if (!has_ended_) return Error{Code::kInvalid, "the step has not ended"};
    const std::lock_guard lock(mutex_);
    Status status = sheet_->wait();
    return status ? status : with_advice(std::move(status).error());
  }
  Status merge_into(std::size_t fold, Partial& partial) override { return sheet_->merge_into(fold, partial); }
  std::uint64_t held_bytes() const override { return sheet_->held_bytes(); }

 private:
  Board& board_;
  std::unique_ptr<Sheet> sheet_;
  std::mutex mutex_;  // of wait()
  std::atomic<bool> has_ended_{false};
};

Result<std::unique_ptr<DeviceBoard>> Board::open(QueueContext& queue_context, const Wanted& wanted) {
  const cl::CommandQueue& queue = queue_context.queue();
  if (queue() == queue_context.own_queue()()) return Error{Code::kUnsupported, "no queue of the caller's is given"};
  cl_int code = CL_SUCCESS;
  const auto properties = queue.getInfo<CL_QUEUE_PROPERTIES>(&code);
  if (code != CL_SUCCESS) return error("asking the caller's queue for its order", "clGetCommandQueueInfo", code);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) {
    return Error{Code::kUnsupported, "commands of the queue may overtake each other"};
  }
  std::unique_ptr<Board> board(new Board(queue_context, wanted));
  board->spare_.reserve(kMostSpare);
  return std::unique_ptr<DeviceBoard>(std::move(board));
}

// A forked child cannot release the parent's OpenCL objects.
Board::~Board() {
  open_.reset();
  if (!context_.forked()) return;
  for (std::unique_ptr<Sheet>& sheet : spare_) abandon(std::move(sheet));
}

Result<const Board::Maker*> Board::maker(Dtype dtype) {
  {
    const std::lock_guard lock(makers_mutex_);
    if (const auto known = makers_.find(dtype); known != makers_.end()) return &known->second;
  }
  Partial partial(dtype, wanted_.precision, wanted_.needs, wanted_.cast_scale);
  Maker made{.task = task_of(Job{{.dtype = dtype}, &partial}), .kernel = nullptr};
  auto kernel = context_.kernel(made.task.kind);
  if (!kernel) return kernel.error();
  made.kernel = *std::move(kernel);
  const std::lock_guard lock(makers_mutex_);
  return &makers_.try_emplace(dtype, std::move(made)).first->second;
}

Result<std::shared_ptr<Board::Step>> Board::step() {
  if (open_ != nullptr) return open_;
  if (steps_ == kMostSteps) {
    return Error{Code::kOverBudget, std::to_string(steps_) + " steps of the board wait for the device, or are kept"};
  }
  std::unique_ptr<Sheet> sheet;
  if (spare_.empty()) {
    sheet = std::make_unique<Sheet>(context_);
  } else {
    sheet = std::move(spare_.back());
    spare_.pop_back();
    if (Status status = sheet->open(); !status) return status.error();
  }
  open_ = std::make_shared<Step>(*this, std::move(sheet));
  ++steps_;
  return open_;
}

// The queue's commands can use the memory of one context.
Status Board::check_context(const Tensor& tensor) const {
  if (tensor.element_count == 0) return {};
  const auto context = context_of(tensor);
  if (!context) return context.error();
  if (*context == context_.context()()) return {};
  return Error{Code::kUnsupported, "the tensor is in another OpenCL context than the queue"};
}

Result<DeviceBoard::Fold> Board::fold(const Tensor& tensor) {
  if (context_.forked()) return QueueContext::forked_error();
  if (std::string refusal = context_.refusal(tensor, wanted_.precision); !refusal.empty()) {
    return Error{Code::kUnsupported, std::move(refusal)};
  }
  if (Status status = check_context(tensor); !status) return status.error();
  if (Status status = context_.check(tensor); !status) return status.error();
  const auto found = maker(tensor.dtype);
  if (!found) return found.error();
  Task task = (*found)->task;
  task.operands[0] = tensor;
  const std::lock_guard lock(mutex_);
  const auto now = step();
  if (!now) return now.error();
  const auto number = (*now)->sheet().fold(task, *(*found)->kernel);
  if (!number) return number.error();
  return Fold{*now, *number};
}

void Board::end_step() {
  std::shared_ptr<Step> ended;  // released without the lock
  const std::lock_guard lock(mutex_);
  ended = std::move(open_);
  if (ended != nullptr && !context_.forked()) ended->end();
}

void Board::take_back(std::unique_ptr<Sheet> sheet) noexcept {
  if (context_.forked()) return abandon(std::move(sheet));
  const bool is_clear = sheet->come_to_end() && sheet->clear();
  const std::lock_guard lock(mutex_);
  --steps_;
  if (is_clear && spare_.size() < kMostSpare) spare_.push_back(std::move(sheet));
}

}  // namespace tensorstat::cl_engine
