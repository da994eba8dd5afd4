// Any allocation of a dump may fail, once or from then on. The job continues, and every tensor is on disk or counted as
// lost.
#include "tests/support/dump_session.hpp"
#include "tests/support/failing_allocations.hpp"

namespace tensorstat {
namespace session_out_of_memory_test {

class SessionOutOfMemory : public SessionTest {
 protected:
  // Hands over three operators while allocation number `nth` fails. Returns the number of allocations.
  std::int64_t dump_with_failure(std::int64_t nth, bool from_then_on) {
    std::filesystem::remove_all(folder / "rank_0");
    messages.clear();
    auto session = open(R"({"saved_data": "full"})");
    const DumpOperator* op = session.operator_named("Op", "Default/x-op1");
    const DumpTensor given = tensor(values, Dtype::kFloat32);
    allocations = 0;
    fail_at = nth;
    for_ever = from_then_on;
    armed = true;
    for (int i = 0; i < 3; ++i) session.collect({}, op, {&given, 1});
    session.step_end({});
    session.flush();
    armed = false;
    session.close();
    const DumpCounters counters = session.counters();
    EXPECT_EQ(counters.tensor_count + counters.lost_tensor_count, 3u);
    EXPECT_GE(counters.row_count + counters.lost_row_count + counters.lost_tensor_count, 3u);
    EXPECT_EQ(counters.waiting_row_count, 0u);
    std::uint64_t npy = 0, rows = 0;
    if (std::filesystem::exists(folder / "rank_0")) {
      for (const auto& file : files()) {
        npy += file.ends_with(".npy");
        EXPECT_EQ(file.find(".new-"), file.npos);
      }
      const std::string text = content_of(folder / "rank_0/Net/0/0/statistic.csv");
      const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
      rows = lines == 0 ? 0 : lines - 1;
    }
    EXPECT_EQ(npy, counters.file_count);
    EXPECT_EQ(rows, counters.row_count);
    return allocations;
  }

  const std::vector<float> values{1, 2, 3};
};

TEST_F(SessionOutOfMemory, EachAllocationOnceAndFromThenOn) {
  const std::int64_t most = dump_with_failure(0, false);
  ASSERT_GT(most, 50);
  for (const bool from_then_on : {false, true}) {
    for (std::int64_t nth = 1; nth <= most; ++nth) {
      SCOPED_TRACE("allocation " + std::to_string(nth) + " of " + std::to_string(most) +
                   (from_then_on ? " and all later ones" : ""));
      dump_with_failure(nth, from_then_on);
      if (HasFailure()) return;
    }
  }
}

}  // namespace session_out_of_memory_test
}  // namespace tensorstat
