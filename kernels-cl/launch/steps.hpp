// The steps of a board. Each has a sheet of memory, and sheets are used again.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels-cl/launch/sheet.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::cl_engine {

// Thread-safe. Outlives its steps.
class Steps {
 public:
  using MakeSheet = std::function<Result<std::unique_ptr<Sheet>>()>;
  // `forked`: whether this process is a forked child, which cannot use what sheets hold. `must_abandon`: whether it
  // cannot release that.
  Steps(MakeSheet make, std::function<bool()> forked, std::function<bool()> must_abandon);
  ~Steps();
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Calls `fold` with the sheet of the step that has not ended, which is one of `make`, under the lock.
  Result<DeviceBoard::Fold> fold(const std::function<Result<std::size_t>(Sheet&)>& fold);
  // Closes that sheet.
  void end();

 private:
  class Step;
  Result<std::shared_ptr<Step>> step();
  void take_back(std::unique_ptr<Sheet> sheet) noexcept;

  const MakeSheet make_;
  const std::function<bool()> forked_, must_abandon_;
  std::mutex mutex_;  // of what follows, and of the open step's sheet
  std::vector<std::unique_ptr<Sheet>> spare_;
  std::shared_ptr<Step> open_;
  std::size_t count_ = 0;
};

}  // namespace tensorstat::cl_engine
