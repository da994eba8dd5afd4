// The rules that compare ranks: "ranks" (a parameter was equal while it changed, and differs in a bit to the end),
// "replica" (as the watch says) and "stopped" (rows end more than one recorded iteration before those of others).
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace ranks_rules_test {

using test::changing;
using test::kConstant;
using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

const std::vector<Planted> kNone;

PlantedTensor parameter(std::uint32_t rank, const std::string& name = "w") {
  return {"Parameter", name, "output", rank};
}

// The sizes with the last bit of some changed.
Sizes flipped(Sizes sizes, std::initializer_list<std::size_t> places) {
  for (const std::size_t place : places) sizes[place] = std::nextafter(sizes[place], 2);
  return sizes;
}

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}

TEST(Ranks, AParameterThatWasEqualWhileItChangedDiffersToTheEnd) {
  const auto run = [](const Sizes& on_0, const Sizes& on_1) {
    return PlantedRun().add(parameter(0), on_0).add(parameter(1), on_1);
  };
  const auto parted = [](std::uint64_t first) {
    return std::vector<Planted>{{"ranks", "Parameter w", first, first - 1, {}, {}, 1}};
  };
  const Sizes sizes = changing(6), constant(6, kConstant);
  EXPECT_EQ(answer(run(sizes, sizes)), kNone);
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {5}))), parted(5));
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {2, 3, 4, 5}))), parted(2));
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {2, 3, 5}))), parted(5));
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {2, 3, 4}))), kNone) << "equal at the end";
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {1, 2, 3, 4, 5}))), kNone) << "equal once, and not while it changed";
  EXPECT_EQ(answer(run(sizes, flipped(sizes, {0, 1, 2, 3, 4, 5}))), kNone) << "never equal";
  EXPECT_EQ(answer(run(constant, flipped(constant, {4, 5}))), kNone) << "equal while it did not change";
  EXPECT_EQ(answer(run(Sizes(4, 0.5) + Sizes{0.25, 0.125}, Sizes(4, 0.5) + Sizes{0.5, 0.75})), kNone)
      << "six digits do not tell the bits";
  EXPECT_TRUE(test::is_judged(run(sizes, sizes).judged(), "ranks"));
  EXPECT_FALSE(test::is_judged(run(sizes, Sizes(6, 0.5)).judged(), "ranks"));
}

TEST(Ranks, AreComparedInTheIterationsOfBoth) {
  const Sizes sizes = changing(8), odd = flipped(sizes, {6, 7});
  const PlantedRun run = PlantedRun()
                             .add(parameter(0), sizes)
                             .add(parameter(1), {odd[1], odd[2], odd[3]}, 1)
                             .add(parameter(1), {odd[6], odd[7]}, 6);
  EXPECT_EQ(answer(run), (std::vector<Planted>{{"ranks", "Parameter w", 6, 3, {}, {}, 1}}));
}

// As where one graph reads a parameter, and another one writes it.
TEST(Ranks, AreComparedInOneGraph) {
  const Sizes before = changing(6), behind = changing(7);
  const auto run = [&](const Sizes& written_on_1) {
    PlantedRun all;
    for (const std::uint32_t rank : {0u, 1u}) {
      PlantedTensor written = parameter(rank);
      written.graph = 1;
      all.add(parameter(rank), before).add(written, rank == 1 ? written_on_1 : Sizes(behind.begin() + 1, behind.end()));
    }
    return all;
  };
  const Sizes same(behind.begin() + 1, behind.end());
  EXPECT_EQ(answer(run(same)), kNone);
  EXPECT_EQ(answer(run(flipped(same, {5}))), (std::vector<Planted>{{"ranks", "Parameter w", 5, 5, {}, {}, 1}}));
}

// Rank 1 was resumed with another statistic at iteration 4; from iteration 6 on it has other values, too.
TEST(Ranks, AreComparedByTheSameStatistics) {
  const Categories few = {Category::kMax, Category::kL2norm},
                   more = {Category::kMax, Category::kL2norm, Category::kZeroCount};
  const auto answer_of = [&](bool has_both_more, double added) {
    History history;
    for (std::uint64_t i = 0; i < 8; ++i) {
      for (const std::uint32_t rank : {0u, 1u}) {
        const double value = 1.123456789 + static_cast<double>(i) + (rank == 1 && i >= 6 ? added : 0);
        const std::vector<Value> values = {value, 2 * value, std::uint64_t{0}};
        const bool has_more = i >= 4 && (rank == 1 || has_both_more);
        history.add({.op_type = "Parameter",
                     .op_name = "w",
                     .dtype = "float32",
                     .shape = "2",
                     .place = {.rank = rank, .iteration = i},
                     .statistics = {has_more ? more : few, std::span(values).first(has_more ? 3 : 2)}});
      }
    }
    history.finish();
    return test::planted_in(find_in(history, {}, {}, {}));
  };
  EXPECT_EQ(answer_of(false, 0), kNone);
  EXPECT_EQ(answer_of(true, 0), kNone);
  EXPECT_EQ(answer_of(true, 0.5), (std::vector<Planted>{{"ranks", "Parameter w", 6, 5, {}, {}, 1}}));
}

TEST(Ranks, TheLowestRankIsTheMeasure) {
  const Sizes sizes = changing(6);
  const PlantedRun run = PlantedRun()
                             .add(parameter(1), flipped(sizes, {4, 5}))
                             .add(parameter(2), flipped(sizes, {4, 5}))
                             .add(parameter(3), sizes)
                             .add(parameter(0, "v"), sizes);
  EXPECT_EQ(answer(run), (std::vector<Planted>{{"ranks", "Parameter w", 4, 3, {}, {}, 3}}));
}

TEST(Ranks, OnlyParametersAreComparedAndNoStatisticsOfABatchNorm) {
  const Sizes sizes = changing(6);
  for (const auto& [type, name, is_found] : {std::tuple{"Parameter", "bn.weight", true},
                                             {"Parameter", "bn.running_mean", false},
                                             {"Parameter", "bn.running_var", false},
                                             {"Parameter", "bn.num_batches_tracked", false},
                                             {"Gradient", "bn.weight", false},
                                             {"Linear", "bn/forward", false}}) {
    const PlantedTensor on_0{type, name}, on_1{type, name, "output", 1};
    EXPECT_EQ(answer(PlantedRun().add(on_0, sizes).add(on_1, flipped(sizes, {5}))).size(), is_found ? 1u : 0u)
        << type << " " << name;
  }
}

TEST(Replica, IsWhatTheWatchComparedAndNotFoundByRanksAgain) {
  const Sizes sizes = changing(6);
  const auto run = [&] {
    return PlantedRun()
        .add(parameter(0), sizes)
        .add(parameter(1), flipped(sizes, {4, 5}))
        .watch("{\"kind\":\"run\",\"shards\":\"data\"}\n");
  };
  const std::string of_w =
      "{\"kind\":\"replica\",\"iteration\":3,\"op_type\":\"Parameter\",\"op_name\":\"w\","
      "\"ranks\":[1],\"replicas\":2}\n";
  const std::vector<Planted> ranks = {{"ranks", "Parameter w", 4, 3, {}, {}, 1}};
  EXPECT_EQ(answer(run()), ranks);
  EXPECT_TRUE(test::is_judged(run().judged(), "replica"));
  EXPECT_FALSE(test::is_judged(PlantedRun().add(parameter(0), sizes).judged(), "replica"));
  EXPECT_EQ(answer(run().watch(of_w)), (std::vector<Planted>{{"replica", "Parameter w", 3, {}, {}, {}, 1}}));
  std::string of_gradient = of_w;
  of_gradient.replace(of_gradient.find("Parameter"), 9, "Gradient");
  const std::vector<Planted> both = {{"replica", "Gradient w", 3, {}, {}, {}, 1}, ranks[0]};
  EXPECT_EQ(answer(run().watch(of_gradient)), both);
}

TEST(Stopped, CountsTheRecordedIterationsBehindItsLast) {
  const auto rows = [](std::size_t count) { return Sizes(count, 1); };
  const auto tensor = [](std::uint32_t rank) { return PlantedTensor{"Add", "add", "output", rank}; };
  const auto run = [&](std::size_t on_1) { return PlantedRun().add(tensor(0), rows(6)).add(tensor(1), rows(on_1)); };
  const auto stopped = [](std::uint64_t first, double value, double limit, std::uint32_t rank) {
    return Planted{"stopped", "", first, first - 1, value, limit, rank};
  };
  EXPECT_EQ(answer(run(6)), kNone);
  EXPECT_EQ(answer(run(5)), kNone);
  EXPECT_EQ(answer(run(4)), (std::vector{stopped(4, 2, 1, 1)}));
  EXPECT_EQ(answer(run(3), {{FindingRule::kStopped, 3}}), kNone);
  EXPECT_EQ(answer(run(2), {{FindingRule::kStopped, 3}}), (std::vector{stopped(2, 4, 3, 1)}));
  EXPECT_EQ(answer(run(4).add(tensor(2), rows(3))), (std::vector{stopped(3, 3, 1, 2), stopped(4, 2, 1, 1)}))
      << "each rank is a finding of its own";
  PlantedRun every_tenth;
  for (const std::uint64_t iteration : {0, 10, 20, 30}) every_tenth.add(tensor(0), rows(1), iteration);
  for (const std::uint64_t iteration : {0, 10}) every_tenth.add(tensor(1), rows(1), iteration);
  for (const std::uint64_t iteration : {0, 10, 20}) every_tenth.add(tensor(2), rows(1), iteration);
  EXPECT_EQ(answer(every_tenth), (std::vector<Planted>{{"stopped", "", 20, 10, 2, 1, 1}}));
  EXPECT_TRUE(test::is_judged(run(6).judged(), "stopped"));
  EXPECT_FALSE(test::is_judged(PlantedRun().add(tensor(0), rows(6)).judged(), "stopped"));
}

}  // namespace ranks_rules_test
}  // namespace tensorstat
