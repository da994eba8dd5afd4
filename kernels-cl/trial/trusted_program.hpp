// A program that no other user can have changed or replaced.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "kernels-cl/driver/descriptor.hpp"

namespace tensorstat::cl_engine {

// A regular file that only root and this user can have put there or can change. The file and every folder on the path
// to it, also through symbolic links, must belong to root or to the effective user, and neither the group nor others
// may write them. A folder with the sticky bit, such as /tmp, is allowed if the next name is a folder. A file or a link
// there may be another user's hard link to a file of root.
//
// The file stays open. Subprocess runs this open file, even if the name leads to another one by then.
class TrustedProgram {
 public:
  // `path` is absolute. An error names the file or folder that is the reason.
  static Result<TrustedProgram> open(const std::string& path);

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.number(); }  // O_PATH; above 2

 private:
  TrustedProgram(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;
};

}  // namespace tensorstat::cl_engine
