#include "kernels-cl/trial/limits.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace tensorstat::cl_engine {
namespace {

struct Used {
  std::uint64_t descriptors = 0, address_bytes = 0, data_bytes = 0;
};

Used used_now() {
  Used used;
  // Not std::filesystem: its iterator ends the process if it has no memory for an entry.
  if (DIR* const folder = opendir("/proc/self/fd")) {
    while (const dirent* entry = readdir(folder)) used.descriptors += entry->d_name[0] != '.';
    closedir(folder);
  }
  // Pages: whole, resident, shared, text, 0, data and stack.
  std::uint64_t pages[6] = {};
  std::array<char, 200> text;
  if (const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t got = read(file, text.data(), text.size());
    const char *position = text.data(), *const end = position + std::max<ssize_t>(0, got);
    for (std::uint64_t& each : pages) {
      position = std::from_chars(position, end, each).ptr;
      if (position != end) ++position;
    }
    close(file);
  }
  const std::uint64_t page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  used.address_bytes = pages[0] * page_bytes;
  used.data_bytes = pages[5] * page_bytes;
  return used;
}

std::optional<std::uint64_t> left(decltype(RLIMIT_AS) which, std::uint64_t used) {
  rlimit limit{};
  if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

void lower(decltype(RLIMIT_AS) which, std::optional<std::uint64_t> left, std::uint64_t used) {
  rlimit limit{};
  if (!left || getrlimit(which, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, used + *left);
  setrlimit(which, &limit);
}

}  // namespace

Limits limits_left() {
  const Used used = used_now();
  return {left(RLIMIT_NOFILE, used.descriptors), left(RLIMIT_AS, used.address_bytes),
          left(RLIMIT_DATA, used.data_bytes)};
}

void limit_to(const Limits& limits) {
  const Used used = used_now();
  lower(RLIMIT_NOFILE, limits.descriptors, used.descriptors);
  lower(RLIMIT_AS, limits.address_bytes, used.address_bytes);
  lower(RLIMIT_DATA, limits.data_bytes, used.data_bytes);
}

std::vector<std::string> to_arguments(const Limits& limits) {
  std::vector<std::string> arguments;
  for (const auto& each : {limits.descriptors, limits.address_bytes, limits.data_bytes}) {
    arguments.push_back(each ? std::to_string(*each) : "-");
  }
  return arguments;
}

Limits limits_from(const char* const* arguments) {
  const auto number = [](const char* text) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, failed] = std::from_chars(text, end, value);
    return failed == std::errc() && stop == end ? std::optional(value) : std::nullopt;
  };
  return {number(arguments[0]), number(arguments[1]), number(arguments[2])};
}

}  // namespace tensorstat::cl_engine
