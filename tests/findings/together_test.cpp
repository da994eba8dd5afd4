// Tensors that break a rule within 5 iterations of each other (drift: 500) are one finding. It names the first in the
// order of execution, and counts the others.
#include <gtest/gtest.h>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace together_test {

using test::growing;
using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

PlantedTensor tensor(const char* name) { return {"Add", name}; }
Sizes jump_at(std::size_t iteration) { return Sizes(iteration, 1) + Sizes{100} + Sizes(60 - iteration, 1); }
Planted jump_of(const char* name, std::uint64_t first, std::uint64_t others) {
  return {"jump", "Add " + std::string(name), first, first - 1, 100, 10, 0, others};
}

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}

TEST(Together, WithinFiveIterationsOfTheOneBefore) {
  const auto run = [](std::initializer_list<std::pair<const char*, std::size_t>> jumps) {
    PlantedRun all;
    for (const auto& [name, iteration] : jumps) all.add(tensor(name), jump_at(iteration));
    return all;
  };
  EXPECT_EQ(answer(run({{"a", 30}, {"b", 35}})), (std::vector{jump_of("a", 30, 1)}));
  EXPECT_EQ(answer(run({{"a", 30}, {"b", 36}})), (std::vector{jump_of("a", 30, 0), jump_of("b", 36, 0)}));
  EXPECT_EQ(answer(run({{"a", 30}, {"b", 35}, {"c", 40}, {"d", 46}})),
            (std::vector{jump_of("a", 30, 2), jump_of("d", 46, 0)}));
  EXPECT_EQ(answer(run({{"later", 31}, {"b", 30}, {"a", 30}})), (std::vector{jump_of("b", 30, 2)}));
  const Findings findings = run({{"a", 30}, {"b", 35}}).judged();
  EXPECT_TRUE(findings.list[0].text.ends_with("; so did 1 other tensor")) << findings.list[0].text;
}

// The ranks of one tensor are not tensors.
TEST(Together, CountTensorsAndRanks) {
  PlantedRun run;
  for (const std::uint32_t rank : {0u, 1u, 2u}) {
    for (const char* name : {"a", "b"}) {
      PlantedTensor each = tensor(name);
      each.rank = rank;
      run.add(each, jump_at(30));
    }
  }
  EXPECT_EQ(answer(run), (std::vector{jump_of("a", 30, 1)}));
  const Findings findings = run.judged();
  EXPECT_TRUE(findings.list[0].text.ends_with(" at iteration 30; on 2 other ranks, too; so did 1 other tensor"))
      << findings.list[0].text;
}

TEST(Together, OnlyOfOneRule) {
  const PlantedTensor half{.type = "Linear", .name = "half/forward", .dtype = "float16"};
  const PlantedRun run = PlantedRun().add(tensor("a"), jump_at(30)).add(half, Sizes(10, 8000) + Sizes(52, 60000));
  EXPECT_EQ(answer(run),
            (std::vector<Planted>{{"overflow", "Linear half/forward", 10, 9, 60000, 32752}, jump_of("a", 30, 0)}));
}

TEST(Together, ADriftWithinFiveHundred) {
  const auto drift_at = [](std::size_t iteration) {
    return Sizes(iteration - 50, 1) + growing(50, 9) + Sizes(703 - iteration, 10.5);
  };
  const auto drift_of = [](const char* name, std::uint64_t first, std::uint64_t others) {
    return Planted{"drift", "Add " + std::string(name), first, first - 1, 10.5, 10, 0, others};
  };
  const auto run = [&](std::size_t second) {
    return PlantedRun().add(tensor("a"), drift_at(200)).add(tensor("b"), drift_at(second));
  };
  EXPECT_EQ(answer(run(700)), (std::vector{drift_of("a", 200, 1)}));
  EXPECT_EQ(answer(run(701)), (std::vector{drift_of("a", 200, 0), drift_of("b", 701, 0)}));
}

}  // namespace together_test
}  // namespace tensorstat
