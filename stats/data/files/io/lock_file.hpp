// A file with a lock, which shows that a process lives.
#pragma once

#include <optional>
#include <string>

#include "stats/data/files/io/own_file.hpp"

namespace tensorstat {

class LockFile {
 public:
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();  // removes the file; after a kill it stays, and the next take() has it

  // Creates the file if it is missing, and locks it. nullopt if a living process holds it. If the file system has no
  // locks, or the file cannot be made, everybody gets it.
  static std::optional<LockFile> take(const std::string& path);

 private:
  LockFile(std::string path, OwnFile file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  OwnFile file_;
};

}  // namespace tensorstat
