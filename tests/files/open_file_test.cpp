// A file of the library never gets the number of a standard stream, though those be closed.
#include "stats/files/open_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tensorstat {
namespace {

TEST(OpenFile, IsAboveTheStandardStreamsAndClosedOnExec) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int standard : {0, 1, 2}) close(standard);
    const int file = open_file("/dev/null", O_RDONLY);
    const bool is_alone = fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
    _exit(file > 2 && is_alone && (fcntl(file, F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OpenFile, SaysWhyItFailed) {
  EXPECT_LT(open_file("/nonexistent/file", O_RDONLY), 0);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tensorstat
