// The text of TENSORSTAT_ATTACH: each word sets what it names, a value may hold commas, and an error names the word and
// its value before the program runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "stats/job/attach/settings.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace attach_settings_test {

using attach::as_value;
using attach::Settings;
using attach::type_rules_from;

TEST(AttachSettings, EachWordSetsWhatItNames) {
  const ScratchFolder folder;
  const std::string types = folder / "types, and more";
  std::ofstream(types) << "# bytes\ngemm.*.[01] = float16\n";
  const auto settings = Settings::from("out=/d,kernels=gemm.*,launches=10-99,every=2,stats=avg,types=" + types +
                                       ",poison=1,binaries=refuse");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->out, "/d");
  EXPECT_TRUE(settings->kernels->matches("gemm_nt"));
  EXPECT_FALSE(settings->kernels->matches("relu"));
  EXPECT_EQ(settings->first_launch, 10u);
  EXPECT_EQ(settings->last_launch, 99u);
  EXPECT_EQ(settings->every, 2u);
  ASSERT_EQ(settings->types.size(), 1u);
  EXPECT_EQ(settings->types[0].dtype, Dtype::kFloat16);
  EXPECT_TRUE(settings->types[0].kernel.matches("gemm_nt") && settings->types[0].argument.matches("1"));
  EXPECT_TRUE(settings->poison);
  EXPECT_TRUE(settings->refuse_binaries);
}

TEST(AttachSettings, OutAloneIsEnough) {
  const auto settings = Settings::from("out=/d");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->statistics, attach::default_statistics());
  EXPECT_FALSE(settings->kernels || settings->poison || settings->refuse_binaries);
  EXPECT_EQ(settings->first_launch, 0u);
  EXPECT_EQ(settings->last_launch, UINT64_MAX);
  EXPECT_EQ(settings->every, 1u);
}

TEST(AttachSettings, LaunchesAreARange) {
  const auto range = [](const std::string& text) {
    const auto settings = Settings::from("out=/d,launches=" + text);
    return settings ? std::pair(settings->first_launch, settings->last_launch) : std::pair(UINT64_MAX, UINT64_MAX);
  };
  EXPECT_EQ(range("7"), std::pair(std::uint64_t{7}, std::uint64_t{7}));
  EXPECT_EQ(range("7-"), std::pair(std::uint64_t{7}, UINT64_MAX));
  EXPECT_EQ(range("7-7"), std::pair(std::uint64_t{7}, std::uint64_t{7}));
}

// What the layer needs itself is measured whatever was asked.
TEST(AttachSettings, StatisticsHaveWhatFaultsAreFoundBy) {
  const auto settings = Settings::from("out=/d,stats=max,nan count");
  ASSERT_TRUE(settings) << settings.error().message;
  for (const Category each : {Category::kMax, Category::kNanCount, Category::kPositiveInfCount,
                              Category::kNegativeInfCount, Category::kXor64}) {
    EXPECT_EQ(std::ranges::count(settings->statistics, each), 1) << name(each);
  }
  EXPECT_EQ(settings->statistics.size(), 5u);
}

TEST(AttachSettings, AnyFolderMayBeNamed) {
  for (const std::string folder : {"/a,b", "/x,poison=1", "/,", "/a,,b", "/out=,kernels=", "/d,every=0"}) {
    const auto settings = Settings::from("out=" + as_value(folder) + ",every=3");
    ASSERT_TRUE(settings) << folder << ": " << settings.error().message;
    EXPECT_EQ(settings->out, folder);
    EXPECT_EQ(settings->every, 3u);
    EXPECT_FALSE(settings->poison);
  }
}

TEST(AttachSettings, ErrorsNameTheWordAndItsValue) {
  const struct {
    const char *text, *words;
  } kCases[] = {{"", "out=FOLDER is missing"},
                {"every=2", "out=FOLDER is missing"},
                {"out=", "out=: expected a folder"},
                {"out=/d,launches=9-3", "launches=9-3: expected A-B"},
                {"out=/d,launches=", "launches=: expected A-B"},
                {"out=/d,launches=1-2-3", "launches=1-2-3: expected A-B"},
                {"out=/d,launches=18446744073709551616", "launches=18446744073709551616: expected A-B"},
                {"out=/d,every=0", "every=0: expected a number above 0"},
                {"out=/d,every=-1", "every=-1: expected a number above 0"},
                {"out=/d,kernels=(", "kernels=(: expected a regular expression"},
                {"out=/d,stats=nonsense", "stats: "},
                {"out=/d,types=/nowhere", "types: /nowhere: "},
                {"out=/d,poison=yes", "poison=yes: expected 0 or 1"},
                {"out=/d,binaries=no", "binaries=no: expected take or refuse"},
                {"kernel=a", "'kernel=a': expected one of out=, kernels="}};
  for (const auto& each : kCases) {
    const auto settings = Settings::from(each.text);
    ASSERT_FALSE(settings) << each.text;
    EXPECT_TRUE(settings.error().message.starts_with(each.words)) << settings.error().message;
  }
}

TEST(AttachSettings, TypeRulesAreLines) {
  const auto rules = type_rules_from("\n# all\n root.0=float32  # the first\nns::k\\.x.out = bfloat16");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_TRUE(rules->at(0).kernel.matches("root") && rules->at(0).argument.matches("0"));
  EXPECT_TRUE(rules->at(1).kernel.matches("ns::k.x") && rules->at(1).argument.matches("out"));
  EXPECT_EQ(rules->at(1).dtype, Dtype::kBfloat16);
  const auto commented = type_rules_from("root.0 = float32 # not x.y = int8");
  ASSERT_TRUE(commented) << commented.error().message;
  EXPECT_EQ(commented->at(0).dtype, Dtype::kFloat32);
  for (const char* wrong : {"root = float32", "root.0", "root.0 = ", "root.0 = float33", "(.0 = float32"}) {
    EXPECT_FALSE(type_rules_from(wrong)) << wrong;
  }
}

}  // namespace attach_settings_test
}  // namespace tensorstat
