// A broken rule up to five iterations behind the first NaN is its consequence and is not listed. Before it and after
// that it is a finding of its own, and so it is on a rank without NaN.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tensorstat/findings.hpp>

#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace consequences_test {

constexpr int kNanAt = 40;

// `log` of rank 0 has NaN in one iteration, and `add` is 500 in others.
void write_run(const ScratchFolder& folder, const std::set<int>& jumps, int rank = 0) {
  for (int iteration = 0; iteration < 80; ++iteration) {
    const std::filesystem::path place =
        folder / ("rank_" + std::to_string(rank) + "/net/0/" + std::to_string(iteration));
    std::filesystem::create_directories(place);
    const double size = jumps.contains(iteration) ? 500 : 1 + iteration % 7 / 10.0;
    std::ofstream file(place / "statistic.csv");
    file << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,L2Norm "
            "Value\n"
         << "Log,log,0,0," << 1000 + 2 * iteration << ",output,0,64,float32,\"(16)\","
         << (iteration == kNanAt && rank == 0 ? "nan,nan,nan\n" : "1,-1,4\n") << "Add,add,0,0," << 1001 + 2 * iteration
         << ",output,0,64,float32,\"(16)\"," << size << ",-1," << 3 * size << "\n";
  }
}

// "nan of log at 40"
std::vector<std::string> answer(const ScratchFolder& folder) {
  const auto result = findings(folder.path());
  if (!result) return {result.error().message};
  std::vector<std::string> all;
  for (const Finding& each : result->list) {
    all.push_back(std::string(name(each.rule)) + " of " + each.op_name + " at " + std::to_string(each.first_iteration));
  }
  return all;
}

TEST(Consequences, EndFiveIterationsBehindTheFault) {
  for (const auto& [jump_at, is_listed] :
       {std::pair{kNanAt - 1, true}, {kNanAt, false}, {kNanAt + 1, false}, {kNanAt + 5, false}, {kNanAt + 6, true}}) {
    const ScratchFolder folder;
    write_run(folder, {jump_at});
    std::vector<std::string> expected = {"nan of log at 40"};
    if (is_listed) expected.push_back("jump of add at " + std::to_string(jump_at));
    EXPECT_EQ(answer(folder), expected);
  }
}

TEST(Consequences, HideNoLaterBreachOfTheSameTensor) {
  const ScratchFolder folder;
  write_run(folder, {kNanAt + 2, kNanAt + 27});
  EXPECT_EQ(answer(folder), (std::vector<std::string>{"nan of log at 40", "jump of add at 67"}));
}

TEST(Consequences, AreOnTheRanksThatHoldTheFault) {
  const ScratchFolder folder;
  write_run(folder, {});
  write_run(folder, {kNanAt + 2}, 1);
  EXPECT_EQ(answer(folder), (std::vector<std::string>{"nan of log at 40", "jump of add at 42"}));
}

}  // namespace consequences_test
}  // namespace tensorstat
