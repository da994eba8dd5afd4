// A program that can be run without running what another user wants.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "kernels-cl/driver/descriptor.hpp"

namespace tensorstat::cl_engine {

// A regular file that nobody but root and this user can have put where it is, and nobody else can change. That is so
// when the file and every folder on the way to it, also the way through symbolic links, belong to root or to the
// effective user, and neither their group nor others may write them. Of a folder with the sticky bit, such as /tmp,
// where other users can make files and cannot touch those of others, only a folder is taken: a file or a link there may
// be another user's hard link to one of root's.
//
// The file is held open. What runs (Subprocess) is what was judged, whatever its name leads to by then.
class TrustedProgram {
 public:
  // `path` is absolute. An error says which file or folder is the reason.
  static Result<TrustedProgram> open(const std::string& path);

  const std::string& path() const { return path_; }
  int descriptor() const { return file_.number(); }  // O_PATH; above 2

 private:
  TrustedProgram(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;
};

}  // namespace tensorstat::cl_engine
