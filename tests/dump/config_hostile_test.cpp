// A huge, deeply nested, duplicated or broken config is refused or reported. It never crashes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "stats/data/json/json_text.hpp"
#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace config_hostile_test {

TEST(ConfigHostile, DepthAndSizeAreBounded) {
  for (const std::size_t levels : {65, 100000}) {
    EXPECT_NE(parsed(std::string(levels, '[')).error.find("64 levels"), std::string::npos);
    std::string objects;
    for (std::size_t i = 0; i < levels; ++i) objects += "{\"a\":";
    EXPECT_NE(parsed(objects).error.find("64 levels"), std::string::npos);
  }
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  EXPECT_TRUE(parsed(config_text(R"({"unknown": )" + deep + "}")).config);
  EXPECT_NE(parsed(std::string(kMostJsonBytes + 1, ' ')).error.find("16 MiB"), std::string::npos);
}

TEST(ConfigHostile, DuplicateKeysAreReportedAndTheLastCounts) {
  std::string text = config_text("{}");
  text.insert(text.find("\"dump_mode\""), R"("dump_mode": 7, "net_name": "first",)");
  const auto got = parsed(text);
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_TRUE(got.said_once("common_dump_settings.dump_mode is given more than once"));
  EXPECT_TRUE(got.said_once("common_dump_settings.net_name is given more than once"));
  EXPECT_EQ(got.config->net_name, "ResNet50");
}

TEST(ConfigHostile, UnknownKeysAreWarnedAboutInOneLine) {
  const auto got = parsed(config_text(R"({"kernal": [], "other": 1})", R"({"enabled": true})"));
  ASSERT_TRUE(got.config);
  EXPECT_TRUE(got.said_once("\"kernal\", \"other\""));
  EXPECT_TRUE(got.said_once("\"enabled\""));
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"key" + std::to_string(i) + "\": 1,";
  many.back() = '}';
  const auto flood = parsed(config_text(many));
  EXPECT_EQ(flood.messages.size(), 1u);
  EXPECT_TRUE(flood.said_once("and 4984 more"));
  EXPECT_LT(flood.messages[0].size(), 1000u);
}

TEST(ConfigHostile, HugeNumbersAreNotTruncated) {
  for (const char* number :
       {"4294967296", "18446744073709551616", "1e3", "1e400", "99999999999999999999999999999999"}) {
    std::string text = config_text(R"({"op_debug_mode": 3, "overflow_number": 12345})");
    text.replace(text.find("12345"), 5, number);
    EXPECT_FALSE(parsed(text).config) << number;
  }
}

TEST(ConfigHostile, SyntaxErrorsHaveLineAndColumn) {
  const struct {
    const char* text;
    const char* place;
  } cases[] = {{"", "line 1, column 1"},     {"{\n \"a\" 1}", "line 2, column 6"}, {"{\"a\": \"\xff\"}", "line 1"},
               {"{} x", "line 1, column 4"}, {"\n\n{\"a\":tru}", "line 3"},        {"{\"a\":\"\n", "line 1"}};
  for (const auto& one : cases) {
    const auto got = parsed(one.text);
    EXPECT_FALSE(got.config);
    EXPECT_NE(got.error.find(one.place), std::string::npos) << got.error;
  }
}

TEST(ConfigHostile, LongListsAndTextsAreShortInMessages) {
  const std::string long_text(100000, 'n');
  for (const auto& common : {R"({"net_name": ")" + long_text + "/\"}",
                             R"({"saved_data": "full", "statistic_category": [")" + long_text + "\"]}",
                             R"({"dump_mode": 1, "kernels": ["name-regex()" + long_text + ")\"]}"}) {
    const auto got = parsed(config_text(common));
    EXPECT_FALSE(got.config);
    EXPECT_LT(got.error.size(), 1000u);
  }
}

TEST(ConfigHostile, KernelsAreLimitedInNumber) {
  const auto kernels = [](std::size_t count, const std::string& before, const std::string& after) {
    nlohmann::json keys{{"dump_mode", 1}, {"kernels", nlohmann::json::array()}};
    for (std::size_t i = 0; i < count; ++i) keys["kernels"].push_back(before + std::to_string(i) + after);
    return parsed(config_text(keys.dump()));
  };
  EXPECT_EQ(kernels(100'000, "Default/network-TrainOneStepCell/Conv2D-op", "").error, "") << "of an operator each";
  EXPECT_NE(kernels(100'001, "n/op", "").error.find("at most 100000 entries"), std::string::npos);
  EXPECT_EQ(kernels(4096, "name-regex(n/op", ")").error, "");
  EXPECT_NE(kernels(4097, "name-regex(n/op", ")").error.find("at most 4096 entries with name-regex"),
            std::string::npos);
}

// Texts made from a correct one by cutting, duplicating and changing bytes.
TEST(ConfigHostile, DamagedTextsNeverCrash) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string good = config_text(
      R"J({"dump_mode": 1, "saved_data": "full", "kernels": ["name-regex(Default/(.+)|a{2})"],
           "statistic_category": ["max", "hash:md5"], "iteration": "0|5-8"})J",
      R"({"sample_mode": 1})");
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (auto changes = 1 + random() % 4; changes > 0 && !text.empty(); --changes) {
      const auto offset = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[offset] = static_cast<char>(random());
          break;
        case 1:
          text.erase(offset, random() % 9);
          break;
        case 2:
          text.insert(offset, text.substr(random() % text.size(), random() % 20));
          break;
        default:
          text[offset] = "{}[]\",:0-9|()*\\"[random() % 16];
          break;
      }
    }
    const auto got = parsed(text);
    accepted += got.config.has_value();
    EXPECT_NE(got.config.has_value(), !got.error.empty()) << text;
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace config_hostile_test
}  // namespace tensorstat
