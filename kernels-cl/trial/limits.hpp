// What is left of a process's resource limits. A child gets the same limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorstat::cl_engine {

// Empty if there is no limit, or if it is unknown.
struct Limits {
  std::optional<std::uint64_t> descriptors, address_bytes, data_bytes;
};

// What this process has left now.
Limits limits_left();

// Limits this process to so much more than it uses now.
void limit_to(const Limits& limits);

// Converts to arguments of a program, and back. `arguments` begin with them.
inline constexpr int kLimitArguments = 3;
std::vector<std::string> to_arguments(const Limits& limits);
Limits limits_from(const char* const* arguments);

}  // namespace tensorstat::cl_engine
