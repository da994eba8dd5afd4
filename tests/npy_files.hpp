// For tests: files of any bytes in a folder of their own, and .npy files made by hand.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace tensorstat::test {

// A folder that goes when the test does.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tensorstat.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }

 private:
  std::filesystem::path path_;
};

// Runs a Python program with NumPy in `folder`; the test fails if it does.
inline void run_python(const Folder& folder, std::string_view program) {
  folder.write("program.py", program);
  const std::string command = "cd '" + folder.path() + "' && /usr/bin/python3 program.py";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(folder.path("program.py"));
}

// An .npy file of version `major`.0 with `dictionary` as it is, padded as NumPy does, and `data`.
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
