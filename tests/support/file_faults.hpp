// For tests: chooses the file calls of a program that fail, and how.
#pragma once

#include <cerrno>
#include <string>
#include <vector>

#include "tests/support/file_calls.hpp"

namespace tensorstat::test {

// Applies to the calls of this kind from number `first` to `last`, counted from 1.
struct FileFault {
  FileCall call = FileCall::kOpen;
  int first = 1, last = 1;
  Verdict verdict = {};

  std::string words() const {
    const char* names[] = {"open",
                           "fstat",
                           "flock",
                           "pread",
                           "write",
                           "ftruncate",
                           "fsync",
                           "fchmod",
                           "close",
                           "rename",
                           "fsync of a folder"};
    return std::string(names[static_cast<int>(call)]) + " " + std::to_string(first) +
           (last == first ? "" : " and later") + " with errno " + std::to_string(verdict.error) + ", at most " +
           std::to_string(verdict.most_bytes) + " bytes";
  }
};

constexpr int kForEver = 1 << 30;

// Each errno that such a call may fail with, for the `nth` call only, and for all calls from the `nth` on.
inline std::vector<FileFault> faults_at(int nth) {
  const struct {
    FileCall call;
    std::vector<int> errors;
  } kinds[] = {{FileCall::kOpen, {EMFILE, ENFILE, EACCES, ENOSPC, EROFS, EIO}},
               {FileCall::kStat, {EIO, EOVERFLOW}},
               {FileCall::kRead, {EIO, EBADF}},
               {FileCall::kWrite, {ENOSPC, EDQUOT, EIO, EFBIG}},
               {FileCall::kSync, {EIO, ENOSPC}},
               {FileCall::kSyncFolder, {EIO, ENOSPC}},
               {FileCall::kMode, {EPERM, EIO}},
               {FileCall::kClose, {EIO, ENOSPC, EDQUOT}},
               {FileCall::kRename, {EACCES, ENOSPC, EIO, EROFS}}};
  std::vector<FileFault> faults;
  for (const auto& [call, errors] : kinds) {
    for (const int error : errors) {
      for (const int last : {nth, kForEver}) faults.push_back({call, nth, last, {.error = error}});
    }
  }
  return faults;
}

}  // namespace tensorstat::test
