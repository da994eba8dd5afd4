// A broken rule up to five iterations behind the first NaN is its consequence and is not listed. Before it and after
// that it is a finding of its own.
#include <gtest/gtest.h>

#include <string>
#include <tensorstat/findings.hpp>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace consequences_test {

constexpr int kNanAt = 40;

// `log` has NaN in one iteration, and `add` is 500 in another.
void write_run(const ScratchFolder& folder, int jump_at) {
  for (int iteration = 0; iteration < 60; ++iteration) {
    const std::filesystem::path place = folder / ("rank_0/net/0/" + std::to_string(iteration));
    std::filesystem::create_directories(place);
    const double size = iteration == jump_at ? 500 : 1 + iteration % 7 / 10.0;
    std::ofstream file(place / "statistic.csv");
    file << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm "
            "Value\n"
         << "Log,log,0,0," << 1000 + 2 * iteration << ",output,0,64,float32,\"(16)\","
         << (iteration == kNanAt ? "nan,nan,nan\n" : "1,-1,4\n") << "Add,add,0,0," << 1001 + 2 * iteration
         << ",output,0,64,float32,\"(16)\"," << size << ",-1," << 3 * size << "\n";
  }
}

TEST(Consequences, EndFiveIterationsBehindTheFault) {
  for (const auto& [jump_at, is_listed] :
       {std::pair{kNanAt - 1, true}, {kNanAt, false}, {kNanAt + 1, false}, {kNanAt + 5, false}, {kNanAt + 6, true}}) {
    const ScratchFolder folder;
    write_run(folder, jump_at);
    const auto result = findings(folder.path());
    ASSERT_TRUE(result) << result.error().message;
    bool has_nan = false, has_jump = false;
    for (const Finding& finding : result->list) {
      has_nan |= name(finding.rule) == "nan" && finding.first_iteration == kNanAt;
      has_jump |= name(finding.rule) == "jump";
    }
    EXPECT_TRUE(has_nan) << jump_at;
    EXPECT_EQ(has_jump, is_listed) << "in iteration " << jump_at;
  }
}

}  // namespace consequences_test
}  // namespace tensorstat
