// LD_PRELOADed into a command, gives some of its file calls a verdict. FILE_FAULT holds five
// numbers: the FileCall, the first and the last of its calls that are judged, the errno, the most
// bytes. FILE_FAULT_MARK names a file that is made when the first of them is.
#include <cstdio>
#include <cstdlib>

#include "tests/support/file_calls.hpp"

namespace {

int kind, first, last, calls;
Verdict verdict;

Verdict judge(FileCall call) {
  if (static_cast<int>(call) != kind) return {};
  ++calls;
  if (calls < first || calls > last) return {};
  const char* mark = std::getenv("FILE_FAULT_MARK");
  if (calls == first && mark != nullptr) {
    syscall(SYS_close, syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0600));
  }
  return verdict;
}

__attribute__((constructor)) void arm() {
  const char* fault = std::getenv("FILE_FAULT");
  if (fault != nullptr && std::sscanf(fault, "%d %d %d %d %zu", &kind, &first, &last,
                                      &verdict.error, &verdict.most_bytes) == 5) {
    judge_file_call = judge;
  }
}

}  // namespace
