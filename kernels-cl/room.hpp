// What a process has left of its resource limits, so that a child can be held to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tensorstat::cl_engine {

// Nothing where there is no limit, or none that can be told.
struct Room {
  std::optional<std::uint64_t> descriptors, address_bytes, data_bytes;
};

// Of this process, at this moment.
Room room_left();

// Limits this process to as much more than it has now.
void limit_to(const Room& room);

// As arguments of a program, and back; `arguments` begin with them.
inline constexpr int kRoomArguments = 3;
std::vector<std::string> to_arguments(const Room& room);
Room room_from(const char* const* arguments);

}  // namespace tensorstat::cl_engine
