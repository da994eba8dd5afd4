// SPDX-License-Identifier: Apache-2.0
// Errors as values. A message says what failed, with which file, key or device, and what the system said.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#if defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#error \
    "tensorstat's C++ headers want the ABI of C++11 (_GLIBCXX_USE_CXX11_ABI=1); with the old one, use <tensorstat/tensorstat.h>"
#endif

namespace tensorstat {

enum class Code {
  kInvalid,      // the request is invalid; nothing was done
  kUnsupported,  // the request is valid, but the dtype, the format or the device does not support it
  kUnreadable,   // a file could not be read, or is malformed
  kUnwritable,   // a file could not be written; its earlier content is unchanged
  kOverBudget,   // the call needs more device memory than the budget allows, or than is free at the moment
  kDevice,       // no device, or the device or its driver failed
  kInUse,        // as kDevice, but the device may still use the memory that the call was given. Keep that memory
                 // unchanged until the process ends. This happens only if a driver no longer answers.
  kOutOfMemory,  // host memory is exhausted; the call may have done part of its work
  kNoNumbers,    // a file, or a tensor in it, is fine and has nothing to measure: a text, an empty state dict
};

struct Error {
  Code code = Code::kInvalid;
  std::string message;
};

// Does not allocate: the text fits into std::string's own buffer.
inline Error out_of_memory() noexcept { return {Code::kOutOfMemory, "out of memory"}; }

// Either a T or an Error. Test it before `*` or `->`; taking the value of an error is undefined.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  explicit operator bool() const { return !error_.has_value(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace tensorstat
