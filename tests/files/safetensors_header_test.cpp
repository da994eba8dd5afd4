// The fast recogniser of a safetensors header finds what the reader of JSON finds, and nothing that this refuses: the
// two are held against each other on thousands of changed headers.
#include "stats/data/files/safetensors/safetensors_header.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace safetensors_header_test {

// As the library safetensors writes one, and as Python's json does.
constexpr std::string_view kCompact =
    R"({"__metadata__":{"format":"pt","by":"me"},"a.weight":{"dtype":"F32","shape":[2,30],"data_offsets":[0,240]},)"
    R"("b":{"dtype":"BF16","shape":[],"data_offsets":[240,242]},"":{"dtype":"U8","shape":[0],"data_offsets":[242,242]}}  )";
constexpr std::string_view kSpaced =
    R"({"a": {"dtype": "I64", "shape": [1, 2, 3], "data_offsets": [0, 48]}, )"
    R"("b": {"dtype": "F8_E4M3", "shape": [18446744073709551615], "data_offsets": [48, 1000000000000000000]}})";

// Whether the recogniser takes the header. It must then find what the reader of JSON finds.
bool is_taken(const std::string& header) {
  const auto plain = plain_header(header);
  if (!plain) return false;
  const auto json = json_header(header);
  EXPECT_TRUE(json && *json == *plain) << header;
  return true;
}

TEST(SafetensorsHeader, ThatWritersWriteIsTaken) {
  for (const std::string_view header : {kCompact, kSpaced, std::string_view("{}"), std::string_view("{ } \n")}) {
    EXPECT_TRUE(is_taken(std::string(header))) << header;
  }
}

// Each is JSON of its own kind, or none.
TEST(SafetensorsHeader, OfAnotherKindIsLeftToTheReaderOfJson) {
  const auto one = [](const std::string& name, const std::string& shape, const std::string& more = "") {
    return "{\"" + name + R"(":{"dtype":"U8","shape":)" + shape + R"(,"data_offsets":[0,1]})" + more + "}";
  };
  ASSERT_TRUE(is_taken(one("x", "[1]")));
  const std::string same = R"(,"x":{"dtype":"U8","shape":[0],"data_offsets":[1,1]})";
  const std::string many = "[1" + [] {
    std::string more;
    for (int i = 0; i < 63; ++i) more += ",1";
    return more;
  }();
  EXPECT_TRUE(is_taken(one("x", many + "]")));
  const std::string others[] = {
      one("\\u0078", "[1]"),
      one("\xc3\xa4", "[1]"),
      one("x\x7f", "[1]"),
      one("x\t", "[1]"),
      one("x", "[01]"),
      one("x", "[1.0]"),
      one("x", "[-0]"),
      one("x", "[+1]"),
      one("x", "[1e0]"),
      one("x", "[18446744073709551616]"),
      one("x", "[1,]"),
      one("x", "[,1]"),
      one("x", "[1 1]"),
      one("x", many + ",1]"),
      one("x", "[1]", ","),
      one("x", "[1]", same),
      one("x", "[1]", R"(,"__metadata__":{"a":"b","a":"b"})"),
      one("x", "[1]", R"(,"__metadata__":{},"__metadata__":{})"),
      one("x", "[1]", R"(,"__metadata__":{"a":1})"),
      one("x", "[1]") + "}",
      one("x", "[1]") + std::string(1, '\0'),
      R"({"x":{"shape":[1],"dtype":"U8","data_offsets":[0,1]}})",
      R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0]}})",
      R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],}})",
      "{",
      "",
      "[]",
      "{\"x\":{}}",
  };
  for (const std::string& header : others) EXPECT_FALSE(is_taken(header)) << header;
  EXPECT_NE(safetensors_header(one("x", "[1]", same)).error().message.find("the key 'x' comes twice"),
            std::string::npos);
  const auto escaped = safetensors_header(others[0]);
  ASSERT_TRUE(escaped);
  EXPECT_EQ(escaped->front().name, "x");
}

// Bytes are replaced, added and removed, and pieces are doubled, as a name that comes twice is.
TEST(SafetensorsHeader, ThatIsChangedHasOneMeaning) {
  constexpr std::string_view kBytes = "{}[]\":,0123456789 \t\n\\-+.eE_abF\x7f\x01\xc3";
  constexpr int kHeaders = 40'000;
  std::mt19937_64 random(samples::seed());
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  int taken = 0, read = 0;
  for (int i = 0; i < kHeaders; ++i) {
    std::string header(i % 2 == 0 ? kCompact : kSpaced);
    for (std::size_t change = 0, changes = 1 + below(3); change < changes; ++change) {
      const std::size_t offset = below(header.size()), length = std::min(1 + below(70), header.size() - offset);
      switch (below(4)) {
        case 0:
          header[offset] = kBytes[below(kBytes.size())];
          break;
        case 1:
          header.insert(offset, 1, kBytes[below(kBytes.size())]);
          break;
        case 2:
          header.erase(offset, 1 + below(2));
          break;
        default:
          header.insert(below(header.size()), header.substr(offset, length));
      }
    }
    taken += is_taken(header);
    read += static_cast<bool>(json_header(header));
    ASSERT_FALSE(HasFailure()) << "header " << i << ", seed " << samples::seed();
  }
  EXPECT_GT(taken, kHeaders / 20);
  EXPECT_GT(read, taken);
}

}  // namespace safetensors_header_test
}  // namespace tensorstat
