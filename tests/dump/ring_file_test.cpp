// The file of the last steps has what was written to it, also if the system writes and reads a few bytes at a time.
#include "stats/job/alerts/ring_file.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace ring_file_test {

TEST(RingFile, HasWhatIsWrittenAFewBytesAtATime) {
  const ScratchFolder folder;
  auto file = RingFile::create(folder.path(), 4096);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->check());
  const std::string text = "no byte of this line is at another place";
  judge_file_call = [](FileCall) { return Verdict{.most_bytes = 7}; };
  const Status written = file->write(100, text);
  std::string back(text.size() + 2, '?');
  const Status read = file->read(99, std::as_writable_bytes(std::span(back)));
  judge_file_call = nullptr;
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(back, std::string(1, 0) + text + std::string(1, 0));
}

TEST(RingFile, TellsThatTheDiskIsFull) {
  const ScratchFolder folder;
  auto file = RingFile::create(folder.path(), 4096);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->check());
  judge_file_call = [](FileCall call) { return Verdict{.error = call == FileCall::kWrite ? ENOSPC : 0}; };
  const Status written = file->write(0, "text");
  judge_file_call = nullptr;
  EXPECT_FALSE(written);
}

}  // namespace ring_file_test
}  // namespace tensorstat
