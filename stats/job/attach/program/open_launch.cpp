#include "stats/job/attach/program/open_launch.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace tensorstat::attach {

namespace {

std::mutex held_mutex;  // of the references below, of all HeldEvent
auto& held_references = *new std::unordered_map<cl_event, cl_uint>;

}  // namespace

HeldEvent::HeldEvent(cl_event event) : event_(event) {
  if (event_ == nullptr) return;
  const std::lock_guard lock(held_mutex);
  ++held_references[event_];
  below.clRetainEvent(event_);
}
HeldEvent::~HeldEvent() {
  if (event_ == nullptr) return;
  {
    const std::lock_guard lock(held_mutex);
    const auto known = held_references.find(event_);
    if (known != held_references.end() && --known->second == 0) held_references.erase(known);
  }
  below.clReleaseEvent(event_);
}
cl_uint HeldEvent::references_of(cl_event event) {
  const std::lock_guard lock(held_mutex);
  const auto known = held_references.find(event);
  return known == held_references.end() ? 0 : known->second;
}
bool HeldEvent::has_completed() const {
  cl_int status = CL_QUEUED;
  return event_ != nullptr &&
         below.clGetEventInfo(event_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) ==
             CL_SUCCESS &&
         status <= CL_COMPLETE;
}

OpenLaunch::OpenLaunch(const OnQueue& place, const std::vector<cl_event>& events, cl_event launched)
    : place(place), launched(launched) {
  for (const cl_event each : events) readings.emplace_back(each);
}
bool OpenLaunch::has_been_read() const {
  return std::ranges::all_of(readings, [](const HeldEvent& each) { return has_event_ended(each.get()); });
}

bool has_event_ended(cl_event event) {
  cl_int status = CL_QUEUED;
  const cl_int code = below.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  return code != CL_SUCCESS || status <= CL_COMPLETE;
}

}  // namespace tensorstat::attach
