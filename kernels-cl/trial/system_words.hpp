// What the system calls an errno.
#pragma once

#include <cstring>
#include <string>

namespace tensorstat::cl_engine {

// In English: strerror follows the locale.
inline std::string system_words(int code) {
  const char* words = strerrordesc_np(code);
  return words == nullptr ? "error " + std::to_string(code) : words;
}

}  // namespace tensorstat::cl_engine
