// A text of JSON is read alike whole and in pieces, and a fault is told at its place; a written text is read back.
#include "stats/data/json/json_reader.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stats/data/json/json_writer.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace json_reader_test {

class EventReader : public JsonReader {
 public:
  explicit EventReader(Rules rules) : JsonReader(rules, "a text") {}

  std::string events;

 private:
  bool scalar(const JsonScalar& value, std::string_view written) override {
    events.append(std::to_string(value.index())).append(" ").append(written).append("\n");
    return true;
  }
  bool string(std::string& text) override { return events.append("string ").append(text).append("\n"), true; }
  bool key(std::string& name) override {
    events.append("key ").append(name).append("\n");
    return name != "refused" || refuse("a refused key");
  }
  bool begin(bool is_list) override { return events += is_list ? "list\n" : "object\n", true; }
  bool end() override { return events += "end\n", true; }
};

std::pair<std::string, std::string> told(std::string_view text, JsonReader::Rules rules) {
  EventReader whole(rules);
  const Status read = whole.read(text);
  return {whole.events, read ? "" : read.error().message};
}

std::pair<std::string, std::string> told_in_pieces(std::string_view text, JsonReader::Rules rules, std::size_t bytes) {
  const NextPiece next = [&](std::string& piece) -> Result<bool> {
    piece += text.substr(0, bytes);
    text.remove_prefix(std::min(text.size(), bytes));
    return !text.empty();
  };
  EventReader in_pieces(rules);
  const Status read = in_pieces.read(next);
  return {in_pieces.events, read ? "" : read.error().message};
}

constexpr JsonReader::Rules kPython{.has_bare_numbers = true}, kStrict{}, kOneLine{.has_one_line = true};

TEST(JsonReader, ReadsPiecesAsTheWhole) {
  samples::Random random(samples::seed());
  const std::string good =
      "{\"a\": [1, -2, 2.5e3, NaN, -Infinity],\n \"b\\u00e9\": {\"c\": null, \"d\": [true, {}]},\r\n \"e\": \"\\\"x\"}";
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (auto changes = random() % 3; changes > 0 && !text.empty(); --changes) {
      const std::size_t offset = random() % text.size();
      if (random() % 2 == 0) {
        text[offset] = "{}[]\",:0-N\n\\\0"[random() % 13];
      } else {
        text.erase(offset, random() % 4);
      }
    }
    for (const auto& rules : {kPython, kStrict, kOneLine}) {
      const auto whole = told(text, rules);
      for (const std::size_t bytes : {1, 2, 7}) EXPECT_EQ(told_in_pieces(text, rules, bytes), whole) << text;
    }
  }
}

TEST(JsonReader, TellsWhereAFaultIs) {
  const struct {
    std::string text;
    JsonReader::Rules rules;
    const char* message;
  } cases[] = {
      {"{\"a\": 1,\n }", kPython,
       "a text, line 2, column 2: syntax error while parsing object key - unexpected '}'; expected string literal; "
       "remove the trailing comma before it"},
      {"[NaN,\nNaN x]", kPython, "a text, line 2, column 5: "},
      {"[1,\n2, refused]", kPython, "a text, line 2, column 4: "},
      {"{\"a\": 1, \"refused\": 2}", kPython, "a text, line 1, column 18: a refused key"},
      {"{\"a\": 1, \"refused\": 2}", kOneLine, "a text, a refused key"},
      {"[\n\n", kStrict, "a text, line 3, column 1: syntax error while parsing value - unexpected end of input"},
      {"[1e400]", kStrict, "a text, line 1, column 6: number overflow parsing '1e400'"},
      {"[1, x]", kOneLine, "a text, it is no JSON at its byte 5: syntax error"},
      {std::string("[1]\0 ", 5), kStrict, "a text, line 1, column 4: a NUL byte"},
      {std::string("[\"\0\"]", 5), kOneLine, "a text, a NUL byte at its byte 3"},
      {"{NaN: 1}", kPython, "a text, line 1, column 4: a number in the place of a name"},
      {std::string(513, '['), kStrict, "a text, line 1, column 513: more than 512 levels"},
  };
  for (const auto& [text, rules, message] : cases) {
    const std::string error = told(text, rules).second;
    EXPECT_TRUE(error.starts_with(message)) << error << "\nwanted: " << message;
  }
}

TEST(JsonReader, KnowsBareNumbersFromTexts) {
  EXPECT_EQ(told("[NaN, Infinity, -Infinity, \"NaN\", \"\\u0001NaN\"]", kPython).first,
            "list\n4 NaN\n4 Infinity\n4 -Infinity\nstring NaN\nstring \x01NaN\nend\n");
  EXPECT_FALSE(told("[NaN]", kStrict).second.empty());
  EXPECT_TRUE(is_json("[1, \"x\"]"));
  for (const std::string text : {"NaN", "", "[", "1 2"}) EXPECT_FALSE(is_json(text)) << text;
  EXPECT_FALSE(is_json(std::string("1\0", 2)));
}

// As nlohmann writes the same: its indent of 1 is Python's.
TEST(JsonWriter, WritesEachStyleToTheByte) {
  nlohmann::ordered_json tree = {
      {"a\"\n\xc3\xa9", {1, true, nullptr, "\xf0\x9f\x98\x80\x7f", nlohmann::ordered_json::array()}},
      {"b", nlohmann::ordered_json::object()},
      {"c", {{"d", {{"e", "f"}}}}},
      {"g", 18446744073709551615u}};
  const struct {
    JsonStyle style;
    std::string text;
  } styles[] = {{kCompactJson, tree.dump()}, {kPythonJson, tree.dump(1, ' ', true)}, {{.indent = 4}, tree.dump(4)}};
  for (const auto& [style, text] : styles) {
    std::string inside, written;
    JsonWriter(inside, style).begin_object().key("e").text("f").end();
    JsonWriter(written, style)
        .begin_object()
        .key("a\"\n\xc3\xa9")
        .begin_list()
        .number(1)
        .truth(true)
        .null()
        .text("\xf0\x9f\x98\x80\x7f")
        .begin_list()
        .end()
        .end()
        .key("b")
        .begin_object()
        .end()
        .key("c")
        .begin_object()
        .key("d")
        .raw(inside)
        .end()
        .key("g")
        .number(std::numeric_limits<std::uint64_t>::max())
        .end();
    EXPECT_EQ(written, text);
  }
  std::string lines;
  JsonWriter(lines).begin_object().key("a").begin_lines().number(1).begin_list().number(2).number(3).end().end().end();
  EXPECT_EQ(lines, "{\"a\":[\n1,\n[2,3]]}");
  EXPECT_EQ(json_quoted("\xff"
                        "a"),
            "\"\xef\xbf\xbd"
            "a\"");
}

}  // namespace json_reader_test
}  // namespace tensorstat
