// The rules of parameters that do not move: "frozen" (50 iterations, while three others change), "stuck" (written and
// equal for 20 steps with a gradient) and "unwritten" (50 iterations with a gradient, while three others are written).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace still_parameters_test {

using test::changing;
using test::kConstant;
using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

// A watch writes a parameter before the first step as an input, and what the optimizer wrote as an output.
PlantedTensor before(const std::string& name, std::uint32_t rank = 0) { return {"Parameter", name, "input", rank}; }
PlantedTensor written(const std::string& name) { return {"Parameter", name, "output"}; }
PlantedTensor gradient(const std::string& name) { return {"Gradient", name, "input"}; }
PlantedTensor gradient_at_step(const std::string& name) { return {"Gradient", name, "output"}; }

Sizes constant(int count) { return Sizes(static_cast<std::size_t>(count), kConstant); }
Sizes ones(int count) { return Sizes(static_cast<std::size_t>(count), 1); }

PlantedRun with_others(int count, const PlantedTensor& as, const Sizes& sizes) {
  PlantedRun run;
  for (int i = 0; i < count; ++i) {
    PlantedTensor other = as;
    other.name = "other" + std::to_string(i);
    run.add(other, sizes);
  }
  return run;
}

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}

const std::vector<Planted> kNone;

TEST(Frozen, HoldsAtEachBorder) {
  const auto found_at = [](std::uint64_t first, double value, double limit = 50) {
    return std::vector<Planted>{{"frozen", "Parameter w", first, first - 1, value, limit}};
  };
  const auto run = [](const Sizes& sizes, int others = 3) {
    return with_others(others, before(""), changing(static_cast<int>(sizes.size()))).add(before("w"), sizes);
  };
  EXPECT_EQ(answer(run(changing(10) + constant(50))), kNone) << "49 are equal to the one before";
  EXPECT_EQ(answer(run(changing(10) + constant(51))), found_at(11, 50));
  EXPECT_EQ(answer(run(changing(1) + constant(60))), found_at(2, 59));
  EXPECT_EQ(answer(run(constant(60))), kNone) << "it never changed";
  EXPECT_EQ(answer(run(changing(10) + constant(60) + changing(1))), kNone) << "it changes at the end";
  EXPECT_EQ(answer(run(changing(10) + Sizes(60, 0.5))), kNone) << "six digits do not tell the bits";
  EXPECT_EQ(answer(run(changing(10) + constant(51), 2)), kNone) << "two others change";
  EXPECT_EQ(answer(run(changing(10) + constant(5)), {{FindingRule::kFrozen, 4}}), found_at(11, 4, 4));
  EXPECT_EQ(answer(run(changing(10) + constant(4)), {{FindingRule::kFrozen, 4}}), kNone);
}

TEST(Frozen, CountsIterationsInWhichThreeOthersOfItsRankChange) {
  const Sizes sizes = changing(10) + constant(55);
  const auto run = [&](int last) { return with_others(3, before(""), changing(last) + constant(65 - last)); };
  EXPECT_EQ(answer(run(60).add(before("w"), sizes)), (std::vector<Planted>{{"frozen", "Parameter w", 11, 10, 50, 50}}));
  EXPECT_EQ(answer(run(59).add(before("w"), sizes)), kNone);
  EXPECT_EQ(answer(run(60).add(before("w", 1), sizes)), kNone) << "the others are on rank 0";
}

TEST(Frozen, AGradientThatIsNoiseInMostStepsExcusesIt) {
  // 2^-20 of the largest gradient is 1.
  for (const auto& [noisy, is_found] : {std::pair{31, false}, {30, true}}) {
    const PlantedRun run = with_others(3, before(""), changing(60))
                               .add(before("w"), changing(5) + constant(55))
                               .add(gradient("large"), Sizes(60, std::ldexp(1, 20)))
                               .add(gradient("w"), Sizes(static_cast<std::size_t>(noisy), 0.9) + ones(60 - noisy));
    EXPECT_EQ(answer(run).size(), is_found ? 1u : 0u) << noisy;
  }
}

TEST(Stuck, HoldsAtEachBorder) {
  const auto found_at = [](std::uint64_t first, std::optional<std::uint64_t> last_clean, double value, double limit) {
    return std::vector<Planted>{{"stuck", "Parameter w", first, last_clean, value, limit}};
  };
  const auto run = [](const Sizes& sizes, const Sizes& gradients) {
    return PlantedRun().add(written("w"), sizes).add(gradient("w"), gradients);
  };
  EXPECT_EQ(answer(run(constant(19), ones(19))), kNone);
  EXPECT_EQ(answer(run(constant(20), ones(20))), found_at(0, {}, 20, 20));
  EXPECT_EQ(answer(run(changing(5) + constant(20), ones(25))), found_at(5, 4, 20, 20));
  EXPECT_EQ(answer(run(changing(5) + constant(19), ones(24))), kNone);
  EXPECT_EQ(answer(run(constant(30) + changing(1), ones(31))), kNone) << "it changes at the end";
  EXPECT_EQ(answer(run(Sizes(30, 0.5), ones(30))), kNone) << "six digits do not tell the bits";
  EXPECT_EQ(answer(run(constant(3), ones(3)), {{FindingRule::kStuck, 3}}), found_at(0, {}, 3, 3));
  EXPECT_EQ(answer(run(constant(2), ones(2)), {{FindingRule::kStuck, 3}}), kNone);
  EXPECT_EQ(answer(run(constant(21), Sizes{10} + ones(20))), kNone) << "a tenth of the greatest is not above it";
  EXPECT_EQ(answer(run(constant(21), Sizes{10} + Sizes(20, 1.01))), found_at(0, {}, 21, 20));
  EXPECT_EQ(answer(run(constant(21), Sizes{0, 0} + ones(19))), kNone) << "19 gradients";
  EXPECT_EQ(answer(run(changing(5) + constant(20), ones(24) + Sizes{0})), kNone) << "those before it do not count";
  EXPECT_EQ(answer(PlantedRun().add(written("w"), constant(20)).add(gradient_at_step("w"), ones(20))),
            found_at(0, {}, 20, 20));
  EXPECT_EQ(answer(PlantedRun().add(before("w"), constant(20)).add(gradient("w"), ones(20))), kNone) << "not written";
}

TEST(Stuck, NeedsAGradientAboveTheNoiseAndRowsToTheEnd) {
  for (const auto& [size, is_found] : {std::pair{1.0, false}, {1.01, true}}) {
    const PlantedRun run = PlantedRun()
                               .add(written("w"), constant(20))
                               .add(gradient("w"), Sizes(20, size))
                               .add(gradient("large"), Sizes(20, std::ldexp(1, 20)));
    EXPECT_EQ(answer(run).size(), is_found ? 1u : 0u) << size;
  }
  for (const auto& [gradients, is_found] : {std::pair{20, true}, {21, false}}) {
    const PlantedRun run = PlantedRun().add(written("w"), constant(20)).add(gradient("w"), ones(gradients));
    EXPECT_EQ(answer(run).size(), is_found ? 1u : 0u) << gradients;
  }
}

TEST(Stuck, IsNotFrozenToo) {
  const PlantedRun run = with_others(3, written(""), changing(70))
                             .add(written("w"), changing(5) + constant(65))
                             .add(gradient("w"), ones(70));
  EXPECT_EQ(answer(run), (std::vector<Planted>{{"stuck", "Parameter w", 5, 4, 65, 20}}));
}

TEST(Unwritten, HoldsAtEachBorder) {
  const auto found_at = [](std::uint64_t first, double value, double limit = 50) {
    return std::vector<Planted>{{"unwritten", "Parameter w", first, {}, value, limit}};
  };
  const auto run = [](int steps, const Sizes& gradients, int others = 3) {
    return with_others(others, written(""), changing(steps))
        .add(before("w"), constant(steps))
        .add(gradient("w"), gradients, static_cast<std::uint64_t>(steps) - gradients.size());
  };
  EXPECT_EQ(answer(run(50, ones(50))), found_at(0, 50));
  EXPECT_EQ(answer(run(52, ones(50))), found_at(2, 50));
  EXPECT_EQ(answer(run(52, ones(49))), kNone) << "49 gradients";
  EXPECT_EQ(answer(run(50, ones(50), 2)), kNone) << "two others";
  EXPECT_EQ(answer(run(50, ones(49) + Sizes{0})), kNone) << "a gradient of 0";
  EXPECT_EQ(answer(run(51, Sizes{0} + ones(50))), found_at(0, 50)) << "the gradient of 0 does not count";
  EXPECT_EQ(answer(run(3, ones(3)), {{FindingRule::kUnwritten, 3}}), found_at(0, 3, 3));
  EXPECT_EQ(answer(run(3, Sizes{0} + ones(2)), {{FindingRule::kUnwritten, 2.5}}), kNone);
  const Findings short_run = run(49, ones(49)).judged();
  EXPECT_EQ(test::planted_in(short_run), kNone) << "the others are written 49 times";
  EXPECT_FALSE(test::is_judged(short_run, "unwritten"));
  EXPECT_TRUE(test::is_judged(run(50, Sizes{}).judged(), "unwritten"));
}

TEST(Unwritten, NeedsAGradientOfBackwardToTheEndAndNoWrite) {
  const auto others = [] { return with_others(3, written(""), changing(55)); };
  EXPECT_EQ(answer(others().add(before("w"), constant(55)).add(gradient("w"), ones(54))), kNone);
  EXPECT_EQ(answer(others().add(before("w"), constant(55)).add(gradient_at_step("w"), ones(55))), kNone);
  EXPECT_EQ(answer(others().add(gradient("w"), ones(55))), kNone) << "no row of the parameter";
  EXPECT_EQ(
      answer(others().add(before("w"), constant(55)).add(gradient("w"), ones(55)).add(written("w"), constant(1), 7)),
      kNone);
}

}  // namespace still_parameters_test
}  // namespace tensorstat
