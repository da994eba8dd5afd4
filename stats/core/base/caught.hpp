// Turns an exception into an Error. Public functions do not throw and return this Error instead.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Call it inside `catch (...)`.
inline Error caught() noexcept try { throw; } catch (const std::bad_alloc&) {
  return out_of_memory();
} catch (const std::exception& thrown) {
  try {
    return {Code::kInvalid, std::string("an exception ended the call: ") + thrown.what()};
  } catch (...) {
    return out_of_memory();
  }
} catch (...) {
  try {
    return {Code::kInvalid, "an exception of an unknown type ended the call"};
  } catch (...) {
    return out_of_memory();
  }
}

}  // namespace tensorstat
