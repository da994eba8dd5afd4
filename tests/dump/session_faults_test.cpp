// A disk that fails costs rows only where memory runs out, and never the job; all of it is said
// once.
#include "tests/support/dump_session.hpp"
#include "tests/support/file_calls.hpp"

namespace tensorstat {
namespace {

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
    said.clear();
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
    for (const auto& message : said)
      EXPECT_EQ(std::count(said.begin(), said.end(), message), 1) << message;
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
  EXPECT_TRUE(was_said("5 lines could not be written and are lost"));
  EXPECT_TRUE(was_said(".npy: No space left on device; more such files may be missing"));
}

TEST_F(SessionFaults, APathThatCannotBe) {
  std::ofstream(folder / "file") << "in the way";
  auto session = open(R"({"saved_data": "full", "path": ")" + (folder / "file") + "\"}");
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.step_end({});
  session.close();
  EXPECT_EQ(session.counters().row_count, 0u);
  EXPECT_EQ(content_of(folder / "file"), "in the way");
  EXPECT_GE(said.size(), 2u);
}

}  // namespace
}  // namespace tensorstat
