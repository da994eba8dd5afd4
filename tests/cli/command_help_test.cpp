// The command's descriptions: the short help with examples, the long help, `explain`, and the devices as JSON.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tensorstat/catalog.hpp>
#include <tensorstat/meter.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"

namespace tensorstat {
namespace command_help_test {

using nlohmann::json;
using test::holds;
using test::line_count;
using test::Ran;
using test::run;

TEST(CommandHelp, IsShortAndBeginsWithExamples) {
  const ScratchFolder folder;
  const Ran help = run(folder, "--help");
  EXPECT_EQ(help.exit, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_LT(help.out.find("Examples:"), help.out.find("Usage:"));
  EXPECT_LE(line_count(help.out), 55u) << help.out;
  for (const char* part : {"--stats", "--fail-on", "--output", "--help-all", "explain", "devices", "dump"}) {
    EXPECT_PRED2(holds, help.out, part);
  }
  EXPECT_FALSE(holds(help.out, "--bfloat16"));
  const std::string options = help.out.substr(help.out.find("Options:"));
  for (const char* of_examples : {"--budget", "--explain", "--sort"}) {
    EXPECT_PRED2(holds, options, std::string("\n  ") + of_examples + " ");
  }
}

TEST(CommandHelp, IsWholeWhereAllIsAskedFor) {
  const ScratchFolder folder;
  const Ran help = run(folder, "--help-all");
  EXPECT_EQ(help.exit, 0);
  for (const char* part :
       {"--stats", "--on", "--device", "--precision", "--format", "--output", "--budget", "--explain", "--version",
        "devices", "negative inf count", "hash", "./dump", "Exit status:"}) {
    EXPECT_PRED2(holds, help.out, part);
  }
  for (const Category category : every_category()) EXPECT_PRED2(holds, help.out, std::string(name(category)));
}

// The options of a subcommand are made only if an argument is its name.
TEST(CommandHelp, KnowsEachSubcommandThatItLists) {
  const ScratchFolder folder;
  std::istringstream lines(run(folder, "--help").out);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("Subcommands:")) continue;
  int count = 0;
  for (std::string name; std::getline(lines, line) && std::istringstream(line) >> name; ++count) {
    const Ran ran = run(folder, name + " --no-such-option");
    EXPECT_EQ(ran.exit, 2) << name << ": " << ran.err;
    EXPECT_PRED2(holds, ran.err, "Try 'tensorstat " + name + " --help'");
    EXPECT_PRED2(holds, run(folder, name + " --help").out, "Usage: tensorstat " + name);
  }
  EXPECT_EQ(count, 15);
}

TEST(CommandHelp, SaysItsVersion) {
  const ScratchFolder folder;
  EXPECT_EQ(run(folder, "--version").out, "tensorstat " + version() + "\n");
}

TEST(CommandHelp, ExplainsEveryStatistic) {
  const ScratchFolder folder;
  const Ran one = run(folder, "explain l2norm");
  EXPECT_EQ(one.exit, 0);
  EXPECT_PRED2(holds, one.out, "the square root of the sum of x * x");
  EXPECT_PRED2(holds, one.out, "NaN if any element is NaN");
  EXPECT_PRED2(holds, one.out, "an exact sum of the squares; then free: rms");
  EXPECT_PRED2(holds, run(folder, "explain nan-count mean").out, "nan count, in statistic.csv \"NaN Count\"");
  const std::string all = run(folder, "explain --all").out, list = run(folder, "explain").out;
  for (const Category category : every_category()) {
    EXPECT_PRED2(holds, all, std::string(name(category)) + ", in statistic.csv \"" + std::string(column(category)));
    EXPECT_PRED2(holds, "\n" + list, "\n" + std::string(name(category)) + " ");
  }
  EXPECT_LT(std::ranges::count(list, '\n'), std::ranges::count(all, '\n') / 3) << "the list has a line for each";
  EXPECT_PRED2(holds, list, "`tensorstat explain NAME`");
  EXPECT_EQ(run(folder, "explain --all max").exit, 2);
  // The columns of `diff` are explained, too.
  EXPECT_PRED2(holds, run(folder, "explain max-abs-diff").out, "the greatest |a - b|\n  NaN, Inf  Inf if one is alone");
  for (const std::string& text : {all, list})
    EXPECT_PRED2(holds, text, "sum of a * b / sqrt(sum of a * a * sum of b * b)");
  const Ran none = run(folder, "explain maximum");
  EXPECT_EQ(none.exit, 2);
  EXPECT_PRED2(holds, none.err, "unknown statistic 'maximum'; the nearest names are max, min, absmax");
}

TEST(CommandHelp, ListsDevicesAsJson) {
  const ScratchFolder folder;
  const Ran ran = run(folder, "devices --json");
  EXPECT_EQ(ran.exit, 0);
  const json devices = test::parsed_json(ran.out);
  const auto expected = list_devices();
  ASSERT_EQ(devices.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(devices[i].at("platform"), expected[i].platform);
    EXPECT_EQ(devices[i].at("device"), expected[i].device);
    EXPECT_EQ(devices[i].at("name"), expected[i].name);
    EXPECT_EQ(devices[i].at("memory_bytes"), expected[i].memory_bytes);
    EXPECT_EQ(devices[i].at("refusal").is_null(), expected[i].refusal.empty());
  }
}

}  // namespace command_help_test
}  // namespace tensorstat
