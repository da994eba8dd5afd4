// The rules that need rows of a watch: "unreached" (20 steps without a gradient, while three others have one), "shrunk"
// (gradients divided by 1000 before each of at least 20 steps) and "mode" (10 steps in eval mode with gradients).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace watched_training_rules_test {

using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

const std::vector<Planted> kNone;

PlantedTensor before(const std::string& name) { return {"Parameter", name, "input"}; }
PlantedTensor made(const std::string& name) { return {"Gradient", name, "input"}; }
PlantedTensor at_step(const std::string& name) { return {"Gradient", name, "output"}; }
const PlantedTensor kForward{"Linear", "a/forward"};

Sizes rows(std::size_t count) { return Sizes(count, 0.5); }

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}

// Three parameters with gradients, which ask for one as a.w and scale do.
PlantedRun training(std::size_t steps, const char* names = "\"a.w\",\"scale\",\"b.w\",\"c.w\",\"d.w\"") {
  PlantedRun run;
  for (const char* name : {"b.w", "c.w", "d.w"}) run.add(made(name), rows(steps));
  return run.watch("{\"kind\":\"trained\",\"iteration\":0,\"names\":[" + std::string(names) + "]}\n");
}

TEST(Unreached, HoldsAtEachBorder) {
  const auto found_of = [](const char* tensor, double value, double limit = 20) {
    return std::vector<Planted>{{"unreached", tensor, 0, {}, value, limit}};
  };
  const auto run = [](std::size_t steps, std::size_t forwards) {
    return training(steps).add(before("a.w"), rows(steps)).add(kForward, rows(forwards));
  };
  EXPECT_EQ(answer(run(20, 20)), found_of("Parameter a.w", 20));
  EXPECT_EQ(answer(run(25, 25)), found_of("Parameter a.w", 25));
  EXPECT_EQ(answer(run(19, 20)), kNone);
  EXPECT_EQ(answer(run(20, 19)), kNone) << "its module runs 19 times";
  EXPECT_EQ(answer(run(21, 20), {{FindingRule::kUnreached, 21}}), found_of("Parameter a.w", 21, 21));
  EXPECT_EQ(answer(run(20, 20), {{FindingRule::kUnreached, 21}}), kNone);
  EXPECT_TRUE(test::is_judged(run(20, 20).judged(), "unreached"));
  EXPECT_FALSE(test::is_judged(run(19, 20).judged(), "unreached"));
}

TEST(Unreached, NeedsThreeOthersItsModuleAndNoGradientAtAll) {
  const auto rest = [](PlantedRun run) { return run.add(before("a.w"), rows(20)).add(kForward, rows(20)); };
  EXPECT_EQ(answer(rest(training(20, "\"a.w\",\"b.w\",\"c.w\""))), kNone) << "two others ask for a gradient";
  EXPECT_EQ(answer(rest(training(20, "\"b.w\",\"c.w\",\"d.w\""))), kNone) << "it asks for none";
  EXPECT_EQ(answer(training(20).add(kForward, rows(20))), kNone) << "no row of the parameter";
  for (const PlantedTensor& row : {made("a.w"), at_step("a.w"), PlantedTensor{"Parameter", "a.w"}}) {
    EXPECT_EQ(answer(rest(training(20)).add(row, rows(1), 7)), kNone) << row.type << " " << row.io;
  }
  EXPECT_EQ(answer(training(20).add(before("scale"), rows(20))),
            (std::vector<Planted>{{"unreached", "Parameter scale", 0, {}, 20, 20}}))
      << "a parameter of no module";
}

constexpr double kSmall = 1.0 / 4096;  // four times this is the norm at the step, and below 0.002

// The sizes before a division by these ratios in turn.
Sizes divided_by(std::initializer_list<double> ratios, std::size_t steps, double after = kSmall) {
  Sizes sizes;
  for (std::size_t i = 0; i < steps; ++i) sizes.push_back(after * ratios.begin()[i % ratios.size()]);
  return sizes;
}

TEST(Shrunk, HoldsAtEachBorder) {
  const auto run = [](const Sizes& sizes, double after = kSmall) {
    return PlantedRun().add(made("w"), sizes).add(at_step("w"), Sizes(sizes.size(), after));
  };
  const auto found_by = [](double least, double limit = 1000) {
    return std::vector<Planted>{{"shrunk", "Gradient w", 0, {}, least, limit}};
  };
  EXPECT_EQ(answer(run(divided_by({1000, 1010}, 20))), found_by(1000));
  EXPECT_EQ(answer(run(divided_by({5000, 2000, 3000}, 25))), found_by(2000));
  EXPECT_EQ(answer(run(divided_by({1000, 1010}, 19))), kNone) << "19 steps";
  EXPECT_EQ(answer(run(divided_by({999, 1010}, 20))), kNone);
  EXPECT_EQ(answer(run(divided_by({1000, 1009}, 20))), kNone) << "a scale";
  EXPECT_EQ(answer(run(divided_by({2000, 3000}, 19) + Sizes{kSmall})), kNone) << "one step is not shrunk";
  EXPECT_EQ(answer(run(divided_by({64, 128}, 20)), {{FindingRule::kShrunk, 64}}), found_by(64, 64));
  EXPECT_EQ(answer(run(divided_by({63, 128}, 20)), {{FindingRule::kShrunk, 64}}), kNone);
  const double border = 0.002 / 4;
  EXPECT_EQ(answer(run(divided_by({2048, 4096}, 20, border), border)), kNone) << "a norm of 0.002";
  const double below = std::nextafter(border, 0);
  EXPECT_EQ(answer(run(divided_by({2048, 4096}, 20, below), below)), found_by(2048));
  EXPECT_TRUE(test::is_judged(run(divided_by({1}, 20)).judged(), "shrunk"));
  EXPECT_FALSE(test::is_judged(run(divided_by({1}, 19)).judged(), "shrunk"));
}

TEST(Shrunk, TakesTheMedianAndTheNormOfAllGradients) {
  const auto run = [](std::initializer_list<double> ratios, double after = kSmall / 2) {
    PlantedRun all;
    for (const double& ratio : ratios) {
      const std::string name = "w" + std::to_string(&ratio - ratios.begin());
      all.add(made(name), divided_by({ratio, 2 * ratio}, 20, after)).add(at_step(name), Sizes(20, after));
    }
    return all;
  };
  EXPECT_EQ(answer(run({1, 5000, 1024, 6000, 2})),
            (std::vector<Planted>{{"shrunk", "Gradient w0", 0, {}, 1024, 1000}}));
  EXPECT_EQ(answer(run({1, 5000, 512, 6000, 2})), kNone);
  // The root of five squares of four sizes: 0.0018 and 0.0022.
  EXPECT_EQ(answer(run({2048, 2048, 2048, 2048, 2048}, 0.0002)).size(), 1u);
  EXPECT_EQ(answer(run({2048, 2048, 2048, 2048, 2048}, 0.00025)), kNone);
}

TEST(Shrunk, ComparesTheStepsThatHaveBothRows) {
  const PlantedRun run = PlantedRun()
                             .add(made("w"), Sizes(5, kSmall) + divided_by({2000, 3000}, 20))
                             .add(at_step("w"), Sizes(20, kSmall), 5)
                             .add(made("v"), Sizes(25, kSmall));
  EXPECT_EQ(answer(run), (std::vector<Planted>{{"shrunk", "Gradient w", 5, {}, 2000, 1000}}));
}

TEST(Mode, CountsStepsWithGradientsInEvalModeToTheEnd) {
  const auto mode = [](int iteration, const char* training, const std::string& name = "drop") {
    return "{\"kind\":\"mode\",\"iteration\":" + std::to_string(iteration) + ",\"op_name\":\"" + name +
           "\",\"training\":" + training + "}\n";
  };
  const auto run = [](std::size_t steps, const PlantedTensor& tensor = {"Dropout", "drop/forward"}) {
    return PlantedRun().add(tensor, rows(steps)).add(made("w"), rows(steps));
  };
  const auto found_at = [](std::uint64_t first, double value, double limit = 10) {
    return std::vector<Planted>{{"mode", "Dropout drop/forward", first, first - 1, value, limit}};
  };
  EXPECT_EQ(answer(run(15).watch(mode(5, "false"))), found_at(5, 10));
  EXPECT_EQ(answer(run(14).watch(mode(5, "false"))), kNone);
  EXPECT_EQ(answer(run(18).watch(mode(5, "false"))), found_at(5, 13));
  EXPECT_EQ(answer(run(15).watch(mode(5, "false") + mode(12, "true"))), kNone);
  EXPECT_EQ(answer(run(5).add(made("w"), rows(10), 5).watch(mode(5, "false"))), found_at(5, 10))
      << "the module runs no more";
  EXPECT_EQ(answer(run(15).watch(mode(2, "false") + mode(3, "true") + mode(5, "false"))), found_at(5, 10));
  EXPECT_EQ(answer(run(15).watch(mode(5, "false", "other"))), kNone);
  EXPECT_EQ(answer(run(8).watch(mode(5, "false")), {{FindingRule::kMode, 3}}), found_at(5, 3, 3));
  EXPECT_EQ(answer(run(7).watch(mode(5, "false")), {{FindingRule::kMode, 3}}), kNone);
  EXPECT_EQ(answer(PlantedRun().add({"Dropout", "drop/forward"}, rows(30)).watch(mode(5, "false"))), kNone)
      << "no gradients";
  for (const char* type : {"Dropout2d", "AlphaDropout", "BatchNorm2d", "SyncBatchNorm", "InstanceNorm1d", "RReLU"}) {
    EXPECT_EQ(answer(run(15, {type, "drop/forward"}).watch(mode(5, "false"))).size(), 1u) << type;
  }
  for (const char* type : {"LayerNorm", "Linear", "ReLU"}) {
    EXPECT_EQ(answer(run(15, {type, "drop/forward"}).watch(mode(5, "false"))), kNone) << type;
  }
  EXPECT_EQ(answer(run(15, {"Dropout", "drop/eval"}).watch(mode(5, "false"))), kNone);
  EXPECT_EQ(answer(run(15, {"Dropout", "drop/forward", "input"}).watch(mode(5, "false"))), kNone);
  EXPECT_TRUE(test::is_judged(run(3).watch(mode(5, "false")).judged(), "mode"));
  EXPECT_FALSE(test::is_judged(run(3).judged(), "mode"));
}

}  // namespace watched_training_rules_test
}  // namespace tensorstat
