// LD_PRELOADed into a command, makes some of its file calls fail. FILE_FAULT has five numbers: the FileCall, the first
// and the last of the affected calls, the errno, the byte limit. The file in FILE_FAULT_MARK is created at the first
// affected call.
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
  if (fault != nullptr &&
      std::sscanf(fault, "%d %d %d %d %zu", &kind, &first, &last, &verdict.error, &verdict.most_bytes) == 5) {
    judge_file_call = judge;
  }
}

}  // namespace
