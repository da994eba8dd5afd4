#include "kernels-cl/launch/at_rest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace tensorstat::cl_engine {
namespace {

using Deleted = std::shared_ptr<std::atomic<bool>>;

void CL_CALLBACK was_deleted(cl_mem, void* given) {
  const std::unique_ptr<Deleted> flag(static_cast<Deleted*>(given));
  **flag = true;
}

// Also false if the driver does not answer.
bool has_ended(const cl::Event& event) {
  cl_int status = CL_QUEUED;
  return clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) == CL_SUCCESS &&
         status <= CL_COMPLETE;  // an error ends a command too
}

std::chrono::milliseconds patience() {
  const char* given = std::getenv("TENSORSTAT_CL_PATIENCE");
  const long milliseconds = given == nullptr ? 0 : std::strtol(given, nullptr, 10);
  return std::chrono::milliseconds(milliseconds > 0 ? milliseconds : 60'000);
}

}  // namespace

Result<Witness> Witness::of(const cl::Buffer& buffer) {
  Witness witness;
  witness.deleted_ = std::make_shared<std::atomic<bool>>(false);
  auto given = std::make_unique<Deleted>(witness.deleted_);
  const cl_int code = clSetMemObjectDestructorCallback(buffer(), was_deleted, given.get());
  if (code != CL_SUCCESS) return error("watching over a buffer", "clSetMemObjectDestructorCallback", code);
  static_cast<void>(given.release());
  return witness;
}

Rest come_to_rest(const cl::CommandQueue& queue, std::span<const cl::Event> events, const std::function<bool()>& seen) {
  const auto until = std::chrono::steady_clock::now() + patience();
  do {
    if (std::ranges::all_of(events, has_ended)) return Rest::kEnded;
    if (seen()) return Rest::kSeen;
    static_cast<void>(clFlush(queue()));  // what was enqueued may not have been handed to the device yet
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  } while (std::chrono::steady_clock::now() < until);
  return Rest::kUnknown;
}

Error with_advice(Error error) {
  if (error.code == Code::kInUse) {
    error.message +=
        "; and the driver does not tell whether the device has stopped using the memory of this call: keep it, "
        "unchanged, until the process ends";
  }
  return error;
}

void keep_for_ever(void* memory) noexcept try {
  static std::mutex mutex;
  static auto* const kept = new std::vector<void*>;
  const std::lock_guard lock(mutex);
  kept->push_back(memory);
} catch (const std::bad_alloc&) {
  // The memory is kept without the list, too. The list only shows it to a leak checker.
}

}  // namespace tensorstat::cl_engine
