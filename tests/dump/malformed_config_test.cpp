// A wrong data_dump.json is refused with a message that says what is wrong: the position in the text, or the key, its
// value and the allowed values.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/config_text.hpp"

namespace tensorstat {
namespace malformed_config_test {

using namespace std::string_literals;

struct Malformed {
  std::string text;
  std::string_view complaint;  // a part of the message
};

// A correct config with these keys in common_dump_settings.
Malformed common(const std::string& keys, std::string_view complaint) { return {config_text(keys), complaint}; }
Malformed e2e(const std::string& keys, std::string_view complaint) { return {config_text("{}", keys), complaint}; }
// One operator pattern.
Malformed regex(const std::string& pattern, std::string_view complaint) {
  const nlohmann::json keys = {{"dump_mode", 1}, {"kernels", {"name-regex(" + pattern + ")"}}};
  return {config_text(keys.dump()), complaint};
}

std::vector<Malformed> malformed_texts() {
  const std::string sound = config_text("{}");
  return {
      // Not JSON.
      {"", "line 1, column 1"},
      {" \n\t\n", "line 3, column 1"},
      {"{", "line 1, column 2"},
      {"}", "line 1, column 1"},
      {"{\"a\"}", "line 1, column 5"},
      {"{\"a\":}", "line 1, column 6"},
      {"{\"a\":1,}", "line 1, column 8"},
      {"{\n  'a': 1\n}", "line 2, column 3"},
      {"{\n  a: 1\n}", "line 2, column 3"},
      {"{\"a\": 01}", "line 1, column 8"},
      {"{\"a\": +1}", "line 1, column 7"},
      {"{\"a\": .5}", "line 1, column 7"},
      {"{\"a\": 1.}", "line 1"},
      {"{\"a\": 0x1}", "line 1"},
      {"{\"a\": NaN}", "line 1, column 7"},
      {"{\"a\": Infinity}", "line 1, column 7"},
      {"{\"a\": True}", "line 1, column 7"},
      {"{\"a\": nul}", "line 1"},
      {"{\"a\": \"\\x41\"}", "line 1"},
      {"{\"a\": \"\\u12g4\"}", "line 1"},
      {"{\"a\": \"\\ud800\"}", "line 1"},
      {"{\"a\": \"tab\there\"}", "line 1"},
      {"{\"a\": \"line\nbreak\"}", "line 1"},
      {"{\"a\": \"never closed", "missing closing quote"},
      {"{\"a\": \"\xff\"}", "line 1"},
      {"{\"a\": \"\xc0\x80\"}", "line 1"},
      {"{\"a\": \"\xed\xa0\x80\"}", "line 1"},
      {"{\"a\": [1, 2}", "line 1, column 12"},
      {"{\"a\": {\"b\": 1]}", "line 1"},
      {"// a comment\n" + sound, "line 1, column 1"},
      {sound + "/* a comment */", "expected end of input"},
      {sound + sound, "expected end of input"},
      {sound + "\0"s, "a NUL byte"},
      {sound + "\0 more"s, "a NUL byte"},
      {"\0"s + sound, "line 1, column 1"},
      {sound.substr(0, sound.size() / 2), "line "},
      {sound.substr(0, sound.size() - 1), "line "},
      {"\xff\xfe{\0}\0"s, "line 1, column 1"},
      {"common_dump_settings:\n  dump_mode: 0\n", "line 1, column 1"},
      {"{\"a\": 1e400}", "line 1"},
      // Too much JSON.
      {std::string(65, '[') + std::string(65, ']'), "more than 64 levels"},
      {std::string(500'000, '['), "more than 64 levels"},
      {sound + std::string(16 << 20, ' '), "larger than 16 MiB"},
      // JSON of another shape.
      {"null", "not a JSON object"},
      {"true", "not a JSON object"},
      {"0", "not a JSON object"},
      {"\"data_dump.json\"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"[" + sound + "]", "not a JSON object"},
      {"{}", "no config that is known here: MindSpore's data_dump.json has common_dump_settings"},
      {"{\"common_dump_settings\": null}", "common_dump_settings is null"},
      {"{\"common_dump_settings\": []}", "common_dump_settings is []"},
      {"{\"common_dump_settings\": \"\"}", "common_dump_settings is \"\""},
      {"{\"Common_Dump_Settings\": {}}", "MindSpore's data_dump.json has common_dump_settings"},
      {"{\"common_dump_settings\": {}}", "common_dump_settings.dump_mode is missing"},
      {sound.substr(0, sound.rfind('}')) + ", \"e2e_dump_settings\": 1}", "e2e_dump_settings is 1; allowed: an object"},
      // Values.
      common(R"({"dump_mode": 1e0})", "dump_mode is 1.0"),
      common(R"({"dump_mode": 18446744073709551616})", "dump_mode is 1.8446744073709552e+19"),
      common(R"({"dump_mode": [0]})", "dump_mode is [0]"),
      common(R"({"path": "~/dump"})", "path is \"~/dump\"; allowed: an absolute path"),
      common(R"({"path": "/a/./b"})", "path is \"/a/./b\""),
      common(R"({"path": "/a\u0000b"})", "path is \"/a\\u0000b\""),
      common(R"({"path": "/\u00e9"})", "path is \"/\\u00e9\""),
      common(R"({"path": "C:\\dump"})", "path is \"C:\\\\dump\""),
      common(R"({"path": ["/a"]})", "path is [\"/a\"]"),
      common(R"({"net_name": ".."})", "net_name is \"..\"; allowed: a text of 1 to 255 letters"),
      common(R"({"net_name": "a b"})", "net_name is \"a b\""),
      common(R"({"net_name": "a\n"})", "net_name is \"a\\n\""),
      common(R"({"net_name": "\u001b[31m"})", "net_name is \"\\u001b[31m\""),
      common("{\"net_name\": \"" + std::string(256, 'n') + "\"}", "nnn...; allowed: a text"),
      common(R"({"iteration": "0,5"})", "iteration is \"0,5\""),
      common(R"({"iteration": "0..5"})", "iteration is \"0..5\""),
      common(R"({"iteration": "0x5"})", "iteration is \"0x5\""),
      common(R"({"iteration": "1 2"})", "iteration is \"1 2\""),
      common(R"({"iteration": "ALL"})", "iteration is \"ALL\""),
      common(R"({"iteration": "all|5"})", "iteration is \"all|5\""),
      common(R"({"iteration": [1, 2]})", "iteration is [1,2]"),
      common(R"({"input_output": "0"})", "input_output is \"0\""),
      common(R"({"input_output": 0.0})", "input_output is 0.0"),
      common(R"({"kernels": {}})", "kernels is "),
      common(R"({"dump_mode": 1, "kernels": [null]})", "kernels is [null]"),
      common(R"({"dump_mode": 1, "kernels": [["Conv"]]})", "kernels is [[\"Conv\"]]"),
      common(R"({"support_device": "0,1"})", "support_device is \"0,1\""),
      common(R"({"support_device": [0.5]})", "support_device is [0.5]"),
      common(R"({"support_device": [4294967296]})", "support_device is [4294967296]"),
      common(R"({"support_device": [[0]]})", "support_device is [[0]]"),
      common(R"({"op_debug_mode": "3"})", "op_debug_mode is \"3\""),
      common(R"({"op_debug_mode": -1})", "op_debug_mode is -1"),
      common(R"({"saved_data": "Tensor"})", "saved_data is \"Tensor\""),
      common(R"({"saved_data": ["tensor"]})", "saved_data is [\"tensor\"]"),
      common(R"({"saved_data": "full", "statistic_category": {}})", "statistic_category is "),
      common(R"({"saved_data": "full", "statistic_category": ["l2_norm"]})", "statistic_category has \"l2_norm\""),
      common(R"({"saved_data": "full", "statistic_category": [["max"]]})", "statistic_category has [\"max\"]"),
      common(R"({"saved_data": "full", "statistic_category": ["hash:md4"]})", "\"hash:md4\""),
      common(R"({"overflow_number": 0})", "overflow_number is 0; allowed: nothing, unless"),
      common(R"({"op_debug_mode": 3, "overflow_number": 1.5})", "overflow_number is 1.5"),
      common(R"({"initial_iteration": -1})", "initial_iteration is -1"),
      common(R"({"initial_iteration": "0"})", "initial_iteration is \"0\""),
      e2e(R"({"enable": "true"})", "enable is \"true\"; allowed: true or false"),
      e2e(R"({"enable": []})", "enable is []"),
      e2e(R"({"trans_flag": 0})", "trans_flag is 0"),
      e2e(R"({"stat_calc_mode": "Device"})", "stat_calc_mode is \"Device\""),
      e2e(R"({"stat_calc_mode": true})", "stat_calc_mode is true"),
      e2e(R"({"device_stat_precision_mode": "HIGH"})", "device_stat_precision_mode is \"HIGH\""),
      e2e(R"({"sample_mode": true})", "sample_mode is true"),
      e2e(R"({"sample_mode": 1, "sample_num": -5})", "sample_num is -5"),
      e2e(R"({"sample_mode": 1, "sample_num": 1e3})", "sample_num is 1000.0"),
      e2e(R"({"save_kernel_args": "yes"})", "save_kernel_args is \"yes\""),
      // Patterns.
      regex("(", "without its )"),
      regex("a)", "without its ("),
      regex("*", "nothing stands before the repetition"),
      regex("a|+", "nothing stands before the repetition"),
      regex("a**", "nothing stands before the repetition"),
      regex("^*", "at character"),
      regex("(?=a)", "look-ahead"),
      regex("(?!a)", "look-ahead"),
      regex("(?<n>a)", "look-ahead"),
      regex("(a)\\1", "back references"),
      regex("\\q", "the escape \\q is unknown"),
      regex("\\u0041", "the escape \\u is unknown"),
      regex("\\x4", "it ends too early"),
      regex("\\x4g", "\\x wants two hexadecimal digits"),
      regex("\\", "it ends too early"),
      regex("[a", "it ends too early"),
      regex("[z-a]", "a range in [ ] that is none"),
      regex("[[:nonsense:]]", "unknown class"),
      regex("[[=a=]]", "[. .] and [= =] are not supported"),
      regex("a{2,1}", "at character"),
      regex("a{", "at character"),
      regex("a{99999}", "at character"),
      regex("((a{100}){100}){100}", "more than 10000 states"),
      regex(std::string(65, '(') + std::string(65, ')'), "nested deeper than 64"),
      regex(std::string(1025, 'a'), "longer than 1024 bytes"),
      regex("\x1b[31m(", "\\x1b[31m("),
  };
}

TEST(MalformedConfig, ThereAreEnough) { EXPECT_GE(malformed_texts().size(), 120u); }

TEST(MalformedConfig, TheOnesTheyAreMadeOfAreSound) {
  EXPECT_TRUE(parsed(config_text("{}")).config);
  EXPECT_TRUE(parsed(regex("Default/.*", "").text).config);
  EXPECT_TRUE(parsed(std::string(1000, ' ') + config_text("{}") + "\n").config);
}

TEST(MalformedConfig, IsRefusedWithTheReason) {
  for (const auto& [text, complaint] : malformed_texts()) {
    const auto got = parsed(text);
    EXPECT_FALSE(got.config) << "wanted: " << complaint << "\n" << text.substr(0, 1000);
    EXPECT_NE(got.error.find(complaint), std::string::npos) << "wanted: " << complaint << "\ngot:    " << got.error;
    EXPECT_LT(got.error.size(), 1000u);
    for (const unsigned char c : got.error) {
      ASSERT_TRUE(c >= ' ' && c <= '~') << "a control character in: " << got.error;
    }
  }
}

// Texts in warnings are one line, too.
TEST(MalformedConfig, KeysInWarningsAreOneLine) {
  const auto got = parsed(R"({"a\nb\u001b": {"c\u007f": 1, "c\u007f": 2}, "common_dump_settings": )" +
                          config_text("{}").substr(config_text("{}").find('{', 1)));
  ASSERT_TRUE(got.config) << got.error;
  EXPECT_TRUE(got.said_once("a\\nb\\x1b.c\\x7f is given more than once"));
  for (const auto& message : got.messages) {
    for (const unsigned char c : message) EXPECT_TRUE(c >= ' ' && c <= '~') << message;
  }
}

}  // namespace malformed_config_test
}  // namespace tensorstat
