// A new file, written from beginning to end.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

class GrowingFile {
 public:
  // Creates the file, with a mode according to the umask. An error if the file exists.
  static Result<GrowingFile> create(std::string path);
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;
  ~GrowingFile();  // without close(), the last bytes may be missing

  Status write(std::string_view text);
  Status close();

 private:
  GrowingFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status flush();

  std::string path_, held_;
  int file_;
};

}  // namespace tensorstat
