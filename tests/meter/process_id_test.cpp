// process_id() is getpid(), also in a child that clone() made without fork's handlers.
#include "stats/core/base/process_id.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tensorstat {
namespace process_id_test {

bool is_right() { return process_id() == static_cast<pid_t>(::syscall(SYS_getpid)); }

void expect_right(pid_t child) {
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(is_right() && is_right() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_right());
}

TEST(ProcessId, OfAForkedChild) {
  ASSERT_TRUE(is_right());
  expect_right(::fork());
}

TEST(ProcessId, OfAChildOfClone) {
  ASSERT_TRUE(is_right());
  expect_right(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)));
}

}  // namespace process_id_test
}  // namespace tensorstat
