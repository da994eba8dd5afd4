#include "stats/answer/origin/origin.hpp"

namespace tensorstat {

std::vector<std::uint32_t> runs_before(const Record& record, std::uint32_t run) {
  constexpr std::size_t kMostRuns = 20;
  std::vector<std::uint32_t> runs;
  const std::uint32_t rank = record.run(run).front().rank;
  for (std::uint32_t number = run; number-- > 0 && runs.size() < kMostRuns;) {
    if (record.run(number).front().rank == rank) runs.push_back(number);
  }
  return {runs.rbegin(), runs.rend()};
}

}  // namespace tensorstat
