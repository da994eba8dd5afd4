// For tests: .npy files made by hand and by NumPy.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {

// Writes a file and returns its path.
inline std::string write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

// Runs a Python program with NumPy in `folder`. If it fails, the test fails.
inline void run_python(const ScratchFolder& folder, std::string_view program) {
  const std::string path = write_file(folder / "program.py", program);
  const std::string command = "cd '" + folder.path() + "' && /usr/bin/python3 program.py";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(path);
}

// An .npy file of version `major`.0 with the text `dictionary`, padded as NumPy does, and `data`.
inline std::string npy(std::string_view dictionary, std::string_view data, int major = 1) {
  const std::size_t start = major == 1 ? 10 : 12;
  std::string header(dictionary);
  header.append(63 - (start + header.size()) % 64, ' ').append("\n");
  std::string file = "\x93NUMPY";
  file.push_back(static_cast<char>(major));
  file.push_back('\0');
  for (std::size_t i = 0; i < start - 8; ++i) {
    file.push_back(static_cast<char>(header.size() >> 8 * i & 0xff));
  }
  return file.append(header).append(data);
}

}  // namespace tensorstat::test
