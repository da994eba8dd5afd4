// SPDX-License-Identifier: Apache-2.0
// Errors as values. A message is written for the person who has to act on it: what was being done,
// to which file, key or device, and what the system said.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#if defined(__GLIBCXX__) && !_GLIBCXX_USE_CXX11_ABI
#error "tensorstat's C++ headers want the ABI of C++11 (_GLIBCXX_USE_CXX11_ABI=1); with the old one, use <tensorstat/tensorstat.h>"
#endif

namespace tensorstat {

enum class Code {
  kInvalid,      // the caller's request makes no sense; nothing was done
  kUnsupported,  // understood and refused: a dtype, a format, a device without a needed feature
  kUnreadable,   // a file could not be read, or lies about itself
  kUnwritable,   // a file could not be written; what was there before is whole
  kOverBudget,   // would need more device memory than the budget allows
  kDevice,       // no device, or the device or its driver failed
  kInUse,        // the same, and the device may still be using the memory that the call was given: it must stay,
                 // unchanged, until the process ends. Only a driver that answers no question any more does this.
  kOutOfMemory,  // host memory is used up; what the call was to do may be done in part, and is not counted on
};

struct Error {
  Code code = Code::kInvalid;
  std::string message;
};

// Made, moved and copied without an allocation: the text fits into the string itself.
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
