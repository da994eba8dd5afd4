// A failing disk loses rows only if memory runs out, and never stops the job. Each fault is reported once.
#include "tests/support/dump_session.hpp"
#include "tests/support/file_calls.hpp"

namespace tensorstat {
namespace session_faults_test {

std::atomic<int> failing_error{0};

class SessionFaults : public SessionTest {
 protected:
  ~SessionFaults() override { judge_file_call = nullptr; }
  static void fail_with(int error) {
    failing_error = error;
    judge_file_call = [](FileCall call) -> Verdict {
      const bool fails = call == FileCall::kWrite || call == FileCall::kOpen;
      return {.error = fails ? failing_error.load() : 0};
    };
  }

  const std::vector<float> values{1, 2};
};

TEST_F(SessionFaults, RowsComeWhenTheDiskIsBackEvenAfterTheirStep) {
  for (const int error : {ENOSPC, EIO, EMFILE, EROFS, EDQUOT}) {
    std::filesystem::remove_all(folder / "rank_0");
    messages.clear();
    auto session = open();
    for (std::uint64_t step = 0; step < 4; ++step) {
      if (step == 1) fail_with(error);
      for (int i = 0; i < 3; ++i) {
        collect(session, {.iteration = step}, "x", {tensor(values, Dtype::kFloat32)});
      }
      session.step_end({.iteration = step});
      session.flush();
      if (step == 2) judge_file_call = nullptr;
    }
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(rows("rank_0/Net/0/" + std::to_string(step) + "/statistic.csv").size(), 3u)
          << "step " << step << ", error " << error;
    }
    session.close();
    EXPECT_EQ(session.counters().lost_row_count, 0u);
    EXPECT_EQ(session.counters().row_count, 12u);
    for (const auto& message : messages) EXPECT_EQ(std::count(messages.begin(), messages.end(), message), 1) << message;
  }
}

TEST_F(SessionFaults, WhatIsLostInTheEndIsCounted) {
  auto session = open(R"({"saved_data": "full"})");
  fail_with(ENOSPC);
  for (int i = 0; i < 5; ++i) collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.close();
  judge_file_call = nullptr;
  EXPECT_EQ(session.counters().lost_row_count, 5u);
  EXPECT_EQ(session.counters().row_count, 0u);
  EXPECT_EQ(session.counters().file_count, 0u);
  EXPECT_EQ(session.counters().lost_file_count, 5u);
  EXPECT_EQ(session.counters().lost_tensor_count, 5u) << "measured, but not saved";
  EXPECT_EQ(session.counters().tensor_count, 0u);
  EXPECT_TRUE(was_said("5 lines could not be written and are lost"));
  EXPECT_TRUE(was_said(".npy: No space left on device; more such files may be missing"));
}

TEST_F(SessionFaults, WhatIsLostOfManyFilesIsSaidOnce) {
  auto session = open(R"({"saved_data": "statistic"})");
  fail_with(ENOSPC);
  constexpr std::uint64_t kFiles = 35;
  for (std::uint64_t step = 0; step < kFiles; ++step) {
    collect(session, {.iteration = step}, "x", {tensor(values, Dtype::kFloat32)});
  }
  session.close();
  judge_file_call = nullptr;
  EXPECT_EQ(session.counters().lost_row_count, kFiles);
  const auto is_of_loss = [](const std::string& words) { return words.find(" lost") != words.npos; };
  EXPECT_EQ(std::ranges::count_if(messages, is_of_loss), 1);
  EXPECT_TRUE(was_said("1 line could not be written and is lost; lines of other files may be, too"));
}

TEST_F(SessionFaults, WhatAStepAcknowledgesIsOnDisk) {
  auto session = open("{}", R"({"enable": true})");
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  EXPECT_TRUE(session.step_end({}));
  fail_with(ENOSPC);
  collect(session, {.iteration = 1}, "x", {tensor(values, Dtype::kFloat32)});
  EXPECT_FALSE(session.step_end({.iteration = 1}));
  EXPECT_FALSE(session.flush());
  EXPECT_EQ(session.counters().row_count, 1u);
  EXPECT_EQ(session.counters().waiting_row_count, 1u);
  EXPECT_EQ(session.counters().lost_row_count, 0u);
  judge_file_call = nullptr;
  EXPECT_TRUE(session.flush());
  EXPECT_EQ(session.counters().row_count, 2u);
  EXPECT_EQ(session.counters().waiting_row_count, 0u);
  EXPECT_EQ(rows("rank_0/Net/0/1/statistic.csv").size(), 1u);
  EXPECT_TRUE(session.close());
}

TEST_F(SessionFaults, RowsOfMoreFilesThanThereAreDescriptorsWait) {
  auto session = open();
  fail_with(EMFILE);
  for (std::uint64_t step = 0; step < 100; ++step) {
    collect(session, {.iteration = step}, "x", {tensor(values, Dtype::kFloat32)});
  }
  EXPECT_FALSE(session.flush());
  EXPECT_EQ(session.counters().row_count, 0u);
  EXPECT_EQ(session.counters().waiting_row_count, 100u);
  judge_file_call = nullptr;
  EXPECT_TRUE(session.close());
  EXPECT_EQ(session.counters().row_count, 100u);
  EXPECT_EQ(session.counters().lost_row_count, 0u);
  for (int step = 0; step < 100; ++step) {
    EXPECT_EQ(rows("rank_0/Net/0/" + std::to_string(step) + "/statistic.csv").size(), 1u) << step;
  }
}

TEST_F(SessionFaults, TheFileThatWasUsedLeastRecentlyIsClosed) {
  auto session = open();
  const auto opened_by_a_row_in = [&](std::uint64_t step) {
    static std::atomic<int> opened;
    opened = 0;
    judge_file_call = [](FileCall call) {
      opened += call == FileCall::kOpen;
      return Verdict{};
    };
    collect(session, {.iteration = step}, "x", {tensor(values, Dtype::kFloat32)});
    session.flush();
    judge_file_call = nullptr;
    return opened > 0;
  };
  for (std::uint64_t step = 0; step < 64; ++step) opened_by_a_row_in(step);
  EXPECT_FALSE(opened_by_a_row_in(0));
  EXPECT_TRUE(opened_by_a_row_in(64));  // one step too many: step 1 is closed
  EXPECT_FALSE(opened_by_a_row_in(0));
  EXPECT_FALSE(opened_by_a_row_in(2));
  EXPECT_TRUE(opened_by_a_row_in(1));
  session.close();
  EXPECT_EQ(rows("rank_0/Net/0/0/statistic.csv").size(), 3u);
  EXPECT_EQ(rows("rank_0/Net/0/1/statistic.csv").size(), 2u);
}

TEST_F(SessionFaults, APathThatCannotBe) {
  std::ofstream(folder / "file") << "in the way";
  auto session = open(R"({"saved_data": "full", "path": ")" + (folder / "file") + "\"}");
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.step_end({});
  session.close();
  EXPECT_EQ(session.counters().row_count, 0u);
  EXPECT_EQ(content_of(folder / "file"), "in the way");
  EXPECT_GE(messages.size(), 2u);
}

}  // namespace session_faults_test
}  // namespace tensorstat
