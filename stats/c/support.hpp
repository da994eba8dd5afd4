// What the functions of <tensorstat/tensorstat.h> share: errors as codes, structs of any version, conversions.
#pragma once

#include <pthread.h>
#include <tensorstat/tensorstat.h>

#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat::c {

// Keeps the words for tensorstat_last_error of this thread, and returns the code.
tensorstat_code failed(tensorstat_code code, const char* words) noexcept;
tensorstat_code failed(const Error& error) noexcept;
// Of an argument that has to be there; may throw.
tensorstat_code missing(const char* what);

// A thread that is cancelled inside the library would unwind through noexcept functions, which aborts the process.
// While this lives the cancellation waits.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// What every function that gives a handle back does.
template <typename Handle>
void destroy(Handle* handle) noexcept {
  const Uncancelled here;
  delete handle;
}

// Runs `work`, which returns a tensorstat_code; an exception becomes one.
template <typename Work>
tensorstat_code guarded(const Work& work) noexcept {
  const Uncancelled here;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return failed(TENSORSTAT_OUT_OF_MEMORY, "the host has no memory for it");
  } catch (const std::exception& thrown) {
    return failed(TENSORSTAT_INVALID, thrown.what());
  } catch (...) {
    return failed(TENSORSTAT_INVALID, "an exception of an unknown type was thrown");
  }
}

// Writes at most `room` bytes of a text, the final 0 among them, and returns how many it has without it.
std::size_t put_text(std::string_view whole, char* text, std::size_t room);

// A struct of the caller's version as one of this version: fields that the caller does not have keep those of `whole`.
template <typename Struct>
std::optional<Struct> taken(const Struct* given, Struct whole) {
  if (given == nullptr || given->size < sizeof(size_t)) return std::nullopt;
  if (given->size == sizeof whole) return *given;
  std::memcpy(&whole, given, std::min(given->size, sizeof whole));
  whole.size = sizeof whole;
  return whole;
}

// Element `index` of an array of structs of the caller's version.
template <typename Struct>
const Struct* at(const Struct* first, std::size_t index) {
  return reinterpret_cast<const Struct*>(reinterpret_cast<const std::byte*>(first) + index * first->size);
}

// Tensors of C as tensors of C++. What those point to lies here, so that it stays where it is.
class Tensors {
 public:
  // An error says which tensor is wrong, and why.
  Status take(const tensorstat_tensor* tensors, std::size_t count);
  std::span<const Tensor> all() const { return tensors_; }

 private:
  Status add(const tensorstat_tensor& given);

  std::vector<Tensor> tensors_;
  std::vector<std::unique_ptr<Strides>> strides_;
};

Result<MeterOptions> meter_options(const tensorstat_meter_options* given);
Result<Request> request_of(const tensorstat_request* given);
Result<Dtype> dtype_of(std::int32_t number);
Log log_of(tensorstat_log log, void* context);

// Writes bytes where there is room for them, and tells how many there are; with no room at all it tells just that. `what`
// they are is said where there is too little.
tensorstat_code copy_out(std::span<const std::byte> bytes, const char* what, void* to, std::size_t room, std::size_t* count);

tensorstat_value value_of(const Value& value);
// The counts of a value of TENSORSTAT_EXPONENTS; nullptr of any other.
const ExponentCounts* exponents_of(const tensorstat_value* value);

// The value of an enumeration that has `count` of them.
template <typename Enum>
Result<Enum> chosen(std::int32_t number, std::int32_t count, const char* field) {
  if (number >= 0 && number < count) return static_cast<Enum>(number);
  return Error{Code::kInvalid, std::string(field) + " is " + std::to_string(number) + "; it can be 0 to " +
                                   std::to_string(count - 1)};
}

}  // namespace tensorstat::c
