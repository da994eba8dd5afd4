// Files in memory in one folder, for readers that find one file by the name of another.
#pragma once

#include <fstream>
#include <string>

#include "tests/fuzz/targets.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::fuzz {

class WrittenFiles {
 public:
  std::string write(const std::string& name, Input content) {
    std::ofstream file(folder_ / name, std::ios::binary | std::ios::trunc);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    demand(static_cast<bool>(file), "the input is written");
    return folder_ / name;
  }
  std::string path() const { return folder_.path(); }

 private:
  ScratchFolder folder_{"/dev/shm"};
};

// Removes and returns the part before the first NUL byte, or everything if there is none.
inline Input take_part(Input& bytes) {
  const Input part = bytes.substr(0, bytes.find('\0'));
  bytes.remove_prefix(std::min(bytes.size(), part.size() + 1));
  return part;
}

}  // namespace tensorstat::fuzz
