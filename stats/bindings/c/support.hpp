// Helpers of all functions of <tensorstat/tensorstat.h>: error codes, structs of any version, conversions. They are in
// libtensorstat-core.so, and libtensorstat.so takes them from there: so both have one last error a thread.
#pragma once

#include <pthread.h>
#include <tensorstat/core.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/core/base/float_environment.hpp"

namespace tensorstat::c {

// Stores the message for this thread's tensorstat_last_error, and returns the code.
tensorstat_code failed(tensorstat_code code, const char* words) noexcept;
tensorstat_code failed(const Error& error) noexcept;
// The message of this thread's last failure.
const char* last_error() noexcept;
// The error for a missing argument. May throw.
tensorstat_code missing(const char* what);

// Delays pthread_cancel while it exists. A thread cancelled inside the library would unwind through noexcept functions,
// which aborts the process.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// The body of every function that frees a handle.
template <typename Handle>
void destroy(Handle* handle) noexcept {
  const Uncancelled here;
  const FloatEnvironment ieee;  // a session measures what is left
  delete handle;
}

// Runs `work`, which returns a tensorstat_code, and converts an exception to one.
template <typename Work>
tensorstat_code guarded(const Work& work) noexcept {
  const Uncancelled here;
  const FloatEnvironment ieee;
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

// Writes at most `room` bytes of a text, including the final 0. Returns the length of the whole text without the 0.
std::size_t put_text(std::string_view whole, char* text, std::size_t room);

// Converts a struct of the caller's version to this version. Fields that the caller's version lacks are taken from
// `whole`.
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

// Converts C tensors to C++ tensors. Owns the strides that these point to.
class Tensors {
 public:
  // The error says which tensor is invalid, and why.
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

// Writes `bytes` to `to`, and their number to `count`. With NULL and a `room` of 0 it only counts. If `room` is too
// small, the error names `what`.
tensorstat_code copy_out(std::span<const std::byte> bytes, const char* what, void* to, std::size_t room,
                         std::size_t* count);

tensorstat_value value_of(const Value& value);
// The counts of a value of kind TENSORSTAT_EXPONENTS; nullptr for any other.
const ExponentCounts* exponents_of(const tensorstat_value* value);

// Converts a number to an enumeration. `last`: its last value in the C header.
template <typename Enum>
Result<Enum> chosen(std::int32_t number, std::int32_t last, const char* field) {
  if (number >= 0 && number <= last) return static_cast<Enum>(number);
  return Error{Code::kInvalid,
               std::string(field) + " is " + std::to_string(number) + "; it can be 0 to " + std::to_string(last)};
}

}  // namespace tensorstat::c
