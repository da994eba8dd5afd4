// Commands of the program that may not have completed, and the layer's readings around them.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "stats/job/attach/program/order.hpp"

namespace tensorstat::attach {

// An event that cannot be asked counts as ended.
bool has_event_ended(cl_event event);

// Where a command is.
struct OnQueue {
  cl_command_queue queue = nullptr;
  bool is_in_order = false;
  CommandNumber number{};
};

// A reference to an event. Destroy it with no lock held: the driver may free a buffer with it, and call a function of
// the program about that.
class HeldEvent {
 public:
  explicit HeldEvent(cl_event event);  // may be null
  ~HeldEvent();
  HeldEvent(HeldEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  HeldEvent& operator=(HeldEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  cl_event get() const { return event_; }
  // How many references the layer has to an event.
  static cl_uint references_of(cl_event event);
  // An error completes a command, too. False if it is not known.
  bool has_completed() const;

 private:
  cl_event event_;
};

// A launch with readings that have not ended.
struct OpenLaunch {
  OnQueue place;
  std::vector<HeldEvent> readings;
  HeldEvent launched;

  OpenLaunch(const OnQueue& place, const std::vector<cl_event>& events, cl_event launched);
  bool has_been_read() const;
};

// A command that writes a storage and has not completed.
struct OpenWriter {
  OnQueue place;
  HeldEvent event;
};

// A reading of a storage around a launch that has not ended.
struct OpenReading {
  std::shared_ptr<OpenLaunch> launch;
  std::shared_ptr<std::atomic<bool>> is_disturbed;  // something may have written it before it was read
};

}  // namespace tensorstat::attach
