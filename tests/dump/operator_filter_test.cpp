// The three forms of `kernels` match exactly the operators that MindSpore's rules give.
#include "stats/job/dump/mindspore/operator_filter.hpp"

#include <gtest/gtest.h>

namespace tensorstat {
namespace operator_filter_test {

constexpr const char* kConv = "Default/network/conv1-Conv2d/Conv2D-op12";
constexpr const char* kConv3d = "Default/Conv3D-op7";
constexpr const char* kAdd = "Gradients/Default/Add-op3";

std::string wanted_by(std::vector<std::string> entries) {
  const auto kernels = OperatorFilter::parse(entries);
  if (!kernels) return kernels.error().message;
  std::string wanted;
  for (const char* name : {kConv, kConv3d, kAdd}) wanted += kernels->wants(name) ? '1' : '0';
  return wanted;
}

TEST(OperatorFilter, FullNamesAreEqualOrNot) {
  EXPECT_EQ(wanted_by({kConv}), "100");
  EXPECT_EQ(wanted_by({"Default/conv3d-op7"}), "000") << "case matters";
  EXPECT_EQ(wanted_by({"Conv2D-op12"}), "000") << "a part of a name is no name";
  EXPECT_EQ(wanted_by({"Default/Conv3D-op"}), "000");
  EXPECT_EQ(wanted_by({" Default/ Conv3D-op7", kAdd}), "011") << "spaces are taken out";
}

TEST(OperatorFilter, TypesAreContainedWhateverTheCase) {
  EXPECT_EQ(wanted_by({"conv"}), "110");
  EXPECT_EQ(wanted_by({"CONV2d"}), "100");
  EXPECT_EQ(wanted_by({"d"}), "111");
  EXPECT_EQ(wanted_by({"network"}), "000") << "only the last part of the scope counts";
  EXPECT_EQ(wanted_by({"op12"}), "000") << "what follows the last - does not";
  EXPECT_EQ(wanted_by({"\"add\""}), "001") << "quotes are taken out";
}

TEST(OperatorFilter, RegularExpressionsMatchTheWholeName) {
  EXPECT_EQ(wanted_by({"name-regex(Default/.+)"}), "110");
  EXPECT_EQ(wanted_by({"name-regex(Default)"}), "000");
  EXPECT_EQ(wanted_by({"name-regex(.*-op(7|3))"}), "011");
  EXPECT_EQ(wanted_by({"name-regex(.*-op[0-9]{2})"}), "100");
  EXPECT_EQ(wanted_by({"name-regex(.*-op\\d)"}), "011") << "backslashes mean what they say";
  EXPECT_EQ(wanted_by({"name-regex(default/.+)"}), "000") << "case matters";
  EXPECT_EQ(wanted_by({"name-regex(.*Conv3D-op7"}), "000") << "without its ) it is a name";
}

TEST(OperatorFilter, AnyEntrySuffices) {
  EXPECT_EQ(wanted_by({"add", kConv3d}), "011");
  EXPECT_EQ(wanted_by({"name-regex(.*op12)", "add"}), "101");
}

TEST(OperatorFilter, NoEntryWantsEverything) {
  EXPECT_EQ(wanted_by({}), "111");
  EXPECT_EQ(wanted_by({"", " ", "\"\""}), "111");
}

TEST(OperatorFilter, AWrongExpressionIsNamed) {
  const auto message = wanted_by({"add", "name-regex(Default/(.+)"});
  EXPECT_NE(message.find("name-regex(Default/(.+)"), message.npos);
  EXPECT_NE(message.find("a ( without its )"), message.npos);
}

// Names and types are looked up. If they were compared one by one, this would take 10^10 comparisons.
TEST(OperatorFilter, ManyEntriesAreLookedUp) {
  std::vector<std::string> entries;
  for (int i = 0; i < 50'000; ++i) {
    entries.push_back("Default/Op" + std::to_string(i) + "-op1");
    entries.push_back("Type" + std::to_string(2 * i) + "x");
  }
  const auto kernels = OperatorFilter::parse(entries);
  ASSERT_TRUE(kernels) << kernels.error().message;
  int wanted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    const bool name = kernels->wants("Default/Op" + number + "-op1");
    EXPECT_EQ(name, i < 50'000);
    const bool type = kernels->wants("Default/atype" + number + "X-op7");
    EXPECT_EQ(type, i % 2 == 0);
    EXPECT_EQ(kernels->wants_escaped("atype" + number + "x", "Default_Op" + number + "-op1"), name || type);
    wanted += name + type;
  }
  EXPECT_EQ(wanted, 100'000);
  EXPECT_TRUE(kernels->unused().empty());
}

TEST(OperatorFilter, OfSeveralTypesTheFirstIsTheOneThatMatched) {
  const auto kernels = OperatorFilter::parse({"conv3d", "conv", "3d"});
  EXPECT_TRUE(kernels->wants(kConv3d));
  EXPECT_EQ(kernels->unused(), (std::vector<std::string>{"conv", "3d"}));
}

TEST(OperatorFilter, TellsWhichNeverMatched) {
  const auto kernels = OperatorFilter::parse({"add", "mul", kConv, "name-regex(x)"});
  EXPECT_TRUE(kernels->wants(kAdd));
  EXPECT_FALSE(kernels->wants(kConv3d));
  EXPECT_EQ(kernels->unused(), (std::vector<std::string>{"name-regex(x)", kConv, "mul"}));
}

}  // namespace operator_filter_test
}  // namespace tensorstat
