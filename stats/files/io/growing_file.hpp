// A new file that is written from its beginning to its end.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

class GrowingFile {
 public:
  // Makes the file, with the mode of the umask. An error where the name is taken.
  static Result<GrowingFile> create(std::string path);
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;
  ~GrowingFile();  // what close() was not called for may be missing

  Status write(std::string_view text);
  Status close();

 private:
  GrowingFile(std::string path, int file) : path_(std::move(path)), file_(file) {}
  Status flush();

  std::string path_, held_;
  int file_;
};

}  // namespace tensorstat
