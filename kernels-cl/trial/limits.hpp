// What a process has left of its resource limits, so that a child can be held to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorstat::cl_engine {

// Nothing where there is no limit, or none that can be told.
struct Limits {
  std::optional<std::uint64_t> descriptors, address_bytes, data_bytes;
};

// Of this process, at this moment.
Limits limits_left();

// Limits this process to as much more than it has now.
void limit_to(const Limits& limits);

// As arguments of a program, and back; `arguments` begin with them.
inline constexpr int kLimitArguments = 3;
std::vector<std::string> to_arguments(const Limits& limits);
Limits limits_from(const char* const* arguments);

}  // namespace tensorstat::cl_engine
