#include "stats/core/engine/gpu/lane.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "stats/core/base/abandon.hpp"
#include "stats/core/base/process_id.hpp"

namespace tensorstat::gpu {
namespace {

std::uint64_t pointer_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Whether a device has its primary context. To retain one that nobody has made takes hundreds of MB of its memory.
bool has_primary_context(const Driver& driver, int device) {
  unsigned flags = 0;
  int is_active = 1;
  if (driver.context_state.address != nullptr) driver.call(driver.context_state, device, &flags, &is_active);
  return is_active != 0;
}

}  // namespace

Result<std::unique_ptr<Lane>> Lane::open(const Driver& driver, int device) {
  auto lane = std::unique_ptr<Lane>(new Lane(driver, device));
  Called called = driver.call(driver.context_retain, &lane->context_, device);
  if (!called) lane->context_ = nullptr;
  if (called) {
    called = lane->inside([&] {
      Called made = driver.call(driver.stream_create, &lane->stream_, kNonBlocking);
      if (made) made = driver.call(driver.event_create, &lane->event_, kDisableTiming);
      return made;
    });
  }
  if (!called) return driver.status(called).error();
  return lane;
}

Called Lane::open_windows() {
  Called made;
  for (void*& window : windows_) {
    if (made && window == nullptr) made = driver_.call(driver_.host_allocate, &window, kWindowBytes, 0u);
  }
  return made;
}

// Everything is freed, whatever fails: once a kernel of the caller's has failed, every call does.
Lane::~Lane() {
  const auto free_all = [this] {
    if (stream_ != nullptr) driver_.stream_synchronize.address(stream_);
    if (event_ != nullptr) driver_.event_destroy.address(std::exchange(event_, nullptr));
    if (stream_ != nullptr) driver_.stream_destroy.address(std::exchange(stream_, nullptr));
    for (void*& window : windows_) {
      if (window != nullptr) driver_.host_free.address(std::exchange(window, nullptr));
    }
    return Called();
  };
  if (context_ == nullptr) return;
  inside(free_all);
  free_all();
  driver_.context_release.address(device_);
}

// Called in any thread. The legacy default stream is behind the per-thread default streams of all threads.
Status Lane::follow(Handle stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) == kPerThreadStream) stream = nullptr;
  if (Status status = refuse_capture(stream); !status) return status;
  return driver_.status(inside([&] { return join(stream); }));
}

Called Lane::join(Handle stream) const {
  const Called recorded = driver_.call(driver_.event_record, event_, stream);
  return recorded ? driver_.call(driver_.stream_wait_event, stream_, event_, 0u) : recorded;
}

Status Lane::refuse_capture(Handle stream) {
  int is_capturing = 0;
  const Called called = inside([&] {
    const Called asked = driver_.call(driver_.stream_is_capturing, stream, &is_capturing);
    if (asked.outcome == kCaptureImplicit) {
      is_capturing = 1;
      return Called();
    }
    return asked;
  });
  if (!called) return driver_.status(called);
  if (is_capturing == 0) return {};
  return Error{Code::kUnsupported, std::string("the tensor is in ") + driver_.name +
                                       " memory, and its stream is being captured into a graph: it has no values yet. "
                                       "Measure it after the capture"};
}

Result<std::uint64_t> Lane::capture_of(Handle stream) {
  int status = 0;
  std::uint64_t capture = 0;
  bool is_default = false;
  const Called called = inside([&] {
    const Called asked = driver_.call(driver_.capture_info, stream, &status, &capture);
    is_default = asked.outcome == kCaptureImplicit;
    return is_default ? Called() : asked;
  });
  if (!called) return driver_.status(called).error();
  if (is_default) return Error{Code::kUnsupported, "the default stream cannot be used while another is captured"};
  if (status == kCaptureInvalidated) {
    return Error{Code::kUnsupported, "an earlier error has ended the capture of the stream"};
  }
  return status == 0 ? 0 : capture;
}

Called Lane::copy(const std::byte* from, std::span<std::byte> to) const {
  return driver_.call(driver_.copy_to_host, to.data(), pointer_of(from), to.size(), stream_);
}

Called Lane::wait() {
  ahead_ = {};
  return driver_.call(driver_.stream_synchronize, stream_);
}

Result<Tensor> Lane::part(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  Tensor slice{.dtype = tensor.dtype, .element_count = count};
  const std::byte* const from = tensor.data() + bytes_of(tensor.dtype, first);
  const auto window = [this](std::uint64_t bytes) {
    return std::span(static_cast<std::byte*>(windows_[next_]), bytes);
  };
  const Called called = inside([&] {
    Called done = open_windows();
    if (!done) return done;
    slice.address = windows_[next_];
    const bool is_on_its_way = ahead_.data() == from && ahead_.size() == slice.bytes();
    if (!is_on_its_way) done = copy(from, window(slice.bytes()));
    if (done) done = wait();
    next_ ^= 1;
    const std::uint64_t behind = std::min(count, tensor.element_count - first - count);
    if (!done || behind == 0) return done;
    ahead_ = {from + slice.bytes(), bytes_of(tensor.dtype, behind)};
    return copy(ahead_.data(), window(ahead_.size()));
  });
  if (!called) return driver_.status(called).error();
  return slice;
}

Status Lane::read(const std::byte* from, std::span<std::byte> to) {
  return driver_.status(inside([&] {
    const Called copied = copy(from, to), waited = wait();
    return copied ? waited : copied;
  }));
}

bool Lane::rest() noexcept {
  if (!has_failed_ && !ahead_.empty()) inside([this] { return wait(); });
  return !has_failed_;
}

Lanes::~Lanes() {
  if (!forked()) return;
  for (auto& lane : free_) abandon(std::move(lane));
}

bool Lanes::forked() const {
  const pid_t owner = owner_;
  return owner != 0 && owner != process_id();
}

Result<Lanes::Place> Lanes::find(const Tensor& tensor) {
  pid_t nobody = 0;
  owner_.compare_exchange_strong(nobody, process_id());
  if (forked()) {
    return Error{Code::kDevice,
                 "the tensor is in a GPU's memory, which cannot be read in a forked child: measure it in the parent"};
  }
  const auto library = driver(tensor.where);
  if (!library) return library.error();
  const Driver& driver = **library;
  const std::uint64_t pointer = pointer_of(tensor.data());
  int ordinal = 0;
  Place place{.driver = &driver};
  Called asked = driver.call(driver.pointer_attribute, &ordinal, kOrdinalOf, pointer);
  if (asked) asked = driver.call(driver.device_get, &place.device, ordinal);
  if (!asked) return driver.status(asked).error();
  // Not known of memory from a pool, nor by ROCm, which has no contexts.
  if (!driver.call(driver.pointer_attribute, &place.context, kContextOf, pointer)) place.context = nullptr;
  return place;
}

Result<Lanes::Lent> Lanes::lend(const Tensor& tensor) {
  const auto place = find(tensor);
  if (!place) return place.error();
  auto lane = lend(*place);
  if (!lane) return lane;
  if (Status status = (*lane)->follow(static_cast<Handle>(tensor.stream)); !status) return status.error();
  return lane;
}

Result<const Driver*> Lanes::driver(Where where) {
  const std::lock_guard lock(mutex_);
  std::optional<Driver>& known = drivers_[where == Where::kCuda ? 0 : 1];
  if (!known) {
    auto library = Driver::find(where);
    if (!library) return library.error();
    known = *library;
  }
  return &*known;
}

Result<Lanes::Lent> Lanes::lend(const Place& place) {
  const auto foreign = [] {
    return Error{Code::kUnsupported,
                 "the tensor is in memory of a context that is not the primary one of its device: "
                 "copy it to the host"};
  };
  Lent lane(nullptr, GiveBack{this});
  {
    const std::lock_guard lock(mutex_);
    free_.reserve(free_.size() + lent_ + 1);  // so that giving back needs no memory
    const auto known =
        std::ranges::find_if(free_, [&](const auto& each) { return each->is_on(*place.driver, place.device); });
    if (known != free_.end()) {
      lane.reset(known->release());
      free_.erase(known);
    } else if (place.context != nullptr && !has_primary_context(*place.driver, place.device)) {
      return foreign();
    } else {
      auto opened = Lane::open(*place.driver, place.device);
      if (!opened) return opened.error();
      lane.reset(opened->release());
    }
    ++lent_;
  }
  if (place.context != nullptr && place.context != lane->context()) return foreign();
  return lane;
}

void Lanes::take_back(std::unique_ptr<Lane> lane) {
  if (forked()) return abandon(std::move(lane));  // the lock may be held for ever
  const bool is_sound = lane->rest();
  const std::lock_guard lock(mutex_);
  --lent_;
  if (is_sound) free_.push_back(std::move(lane));
}

}  // namespace tensorstat::gpu
