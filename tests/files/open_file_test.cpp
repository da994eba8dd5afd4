// The library's files never get the number of a standard stream, even if those are closed.
#include "stats/data/files/io/open_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/rows/append_file.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace open_file_test {

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

// Text that the program writes to its closed stderr goes into no file.
TEST(OpenFile, RowsAndFilesOfADumpHaveNoneOfThem) {
  ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    for (const int standard : {0, 1, 2}) close(standard);
    AppendOptions options;
    options.path = folder / "rows.csv";
    AppendFile rows(options, std::make_shared<Notices>(nullptr));
    rows.append("row\n");
    // While rows.csv is open.
    const bool is_lost = write(0, "said", 4) < 0 && write(1, "said", 4) < 0 && write(2, "said", 4) < 0;
    _exit(is_lost && write_whole_file(folder / "x.json", "{}") ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content_of(folder / "rows.csv"), "row\n");
  EXPECT_EQ(content_of(folder / "x.json"), "{}");
}

TEST(OpenFile, SaysWhyItFailed) {
  EXPECT_LT(open_file("/nonexistent/file", O_RDONLY), 0);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace open_file_test
}  // namespace tensorstat
