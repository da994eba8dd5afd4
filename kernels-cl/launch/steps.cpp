#include "kernels-cl/launch/steps.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "kernels-cl/launch/queue_context.hpp"
#include "stats/core/base/abandon.hpp"

namespace tensorstat::cl_engine {
namespace {

// More sheets than this are kept only while steps use them.
constexpr std::size_t kMostSpareSheets = 3;
// Steps that may be under way, or have tickets.
constexpr std::size_t kMostSteps = 64;

}  // namespace

class Steps::Step final : public DeviceStep {
 public:
  Step(Steps& steps, std::unique_ptr<Sheet> sheet) : steps_(steps), sheet_(std::move(sheet)) {}
  ~Step() override { steps_.take_back(std::move(sheet_)); }

  Sheet& sheet() { return *sheet_; }
  void end() {
    sheet_->close();
    has_ended_ = true;
  }

  Status wait() override {
    if (steps_.forked_()) return QueueContext::forked_error();
    if (!has_ended_) return Error{Code::kInvalid, "the step has not ended"};
    const std::lock_guard lock(mutex_);
    return sheet_->wait();
  }
  Status merge_into(std::size_t fold, Partial& partial) override { return sheet_->merge_into(fold, partial); }
  std::uint64_t held_bytes() const override { return sheet_->held_bytes(); }

 private:
  Steps& steps_;
  std::unique_ptr<Sheet> sheet_;
  std::mutex mutex_;  // of wait()
  std::atomic<bool> has_ended_{false};
};

Steps::Steps(MakeSheet make, std::function<bool()> forked, std::function<bool()> must_abandon)
    : make_(std::move(make)), forked_(std::move(forked)), must_abandon_(std::move(must_abandon)) {
  spare_.reserve(kMostSpareSheets);
}

Steps::~Steps() {
  open_.reset();
  if (!must_abandon_()) return;
  for (std::unique_ptr<Sheet>& sheet : spare_) abandon(std::move(sheet));
}

Result<std::shared_ptr<Steps::Step>> Steps::step() {
  if (open_ != nullptr) return open_;
  if (count_ == kMostSteps) {
    return Error{Code::kOverBudget, std::to_string(count_) + " steps of the board wait for the device, or are kept"};
  }
  std::unique_ptr<Sheet> sheet;
  if (spare_.empty()) {
    auto made = make_();
    if (!made) return made.error();
    sheet = *std::move(made);
  } else {
    sheet = std::move(spare_.back());
    spare_.pop_back();
    if (Status status = sheet->open(); !status) return status.error();
  }
  open_ = std::make_shared<Step>(*this, std::move(sheet));
  ++count_;
  return open_;
}

Result<DeviceBoard::Fold> Steps::fold(const std::function<Result<std::size_t>(Sheet&)>& fold) {
  const std::lock_guard lock(mutex_);
  const auto now = step();
  if (!now) return now.error();
  const auto number = fold((*now)->sheet());
  if (!number) return number.error();
  return DeviceBoard::Fold{*now, *number};
}

void Steps::end() {
  if (forked_()) return;        // the lock may be held for ever
  std::shared_ptr<Step> ended;  // released without the lock
  const std::lock_guard lock(mutex_);
  ended = std::move(open_);
  if (ended != nullptr) ended->end();
}

void Steps::take_back(std::unique_ptr<Sheet> sheet) noexcept {
  if (must_abandon_()) return abandon(std::move(sheet));
  const bool is_clear = sheet->come_to_end() && sheet->clear();
  const std::lock_guard lock(mutex_);
  --count_;
  if (is_clear && spare_.size() < kMostSpareSheets) spare_.push_back(std::move(sheet));
}

}  // namespace tensorstat::cl_engine
