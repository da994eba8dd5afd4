// A folder that is filled under another name, and gets its own when all is in it.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat::cli {

class StagedFolder {
 public:
  // Makes a hidden folder beside `target`, a file or folder that must not be there yet; a folder may be, where it is
  // empty. kUnwritable otherwise.
  static Result<StagedFolder> open(const std::string& target);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();  // removes what was not placed

  const std::string& path() const { return path_; }

  // The disk has what is in it; then the folder, or the one file of this name in it, is what `target` names.
  Status place(const std::string& only_file = {});

 private:
  StagedFolder(std::string path, std::string target) : path_(std::move(path)), target_(std::move(target)) {}

  std::string path_, target_;
};

}  // namespace tensorstat::cli
