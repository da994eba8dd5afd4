// A file in memory, for readers that need a path.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(Input content) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    demand(write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()),
           "the input is written");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace tensorstat::fuzz
