// Pickles that would take too much, or that contradict their file, are errors with words; nothing is taken on trust.
#include <gtest/gtest.h>

#include <string>

#include "stats/data/files/torch/strided_view.hpp"
#include "stats/data/files/torch/torch_objects.hpp"

namespace tensorstat {
namespace malformed_torch_test {

using namespace std::string_literals;

std::string fault_of(const std::string& bytes) {
  const auto pickle = Pickle::read(bytes);
  if (!pickle) return pickle.error().message;
  const auto objects = torch_objects(*pickle);
  return objects ? "" : objects.error().message;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(MalformedTorch, SaysWhatIsWrongAndWhere) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "the pickle does not end"},
      {"\x80\x02", "the pickle does not end"},
      {"X\xff\xff\xff\xff", "the pickle does not end"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "the pickle does not end"},
      {"\x80\x09.", "the unknown protocol 9 at its byte 0"},
      {".", "takes from an empty stack at its byte 0"},
      {"(0.", "takes from an empty stack at its byte 2"},
      {"h\x05.", "recalls what it has not remembered at its byte 0"},
      {"t.", "has no mark at its byte 0"},
      {"}(Nu.", "a key without a value at its byte 3"},
      {")Na.", "puts items into what is no container of them at its byte 2"},
      {"NN\x93.", "names something by what is no text at its byte 2"},
      {"\x97.", "has the opcode 151, which is not read, at its byte 0"},
      {"(o.", "makes an object of no class at its byte 1"},
      {repeated("]", 1000) + repeated("a", 999) + ".", ""},
      {repeated("]", 1001) + repeated("a", 1000) + ".", "nested deeper than 1000"},
  };
  for (const auto& [bytes, words] : cases) {
    const std::string fault = fault_of(bytes);
    EXPECT_NE(fault.find(words), fault.npos) << testing::PrintToString(bytes) << ": " << fault;
    EXPECT_EQ(fault.empty(), *words == '\0') << testing::PrintToString(bytes) << ": " << fault;
  }
}

// Each list holds the one before it twice: 2^60 paths lead to the first.
TEST(MalformedTorch, AContainerIsReadOnce) {
  std::string bytes = "]q\0"s;
  for (char i = 1; i <= 60; ++i)
    bytes += "]q"s + i + "(h" + static_cast<char>(i - 1) + "h" + static_cast<char>(i - 1) + "e";
  EXPECT_EQ(fault_of(bytes + "."), "");
}

TEST(MalformedTorch, AListMayHoldItself) { EXPECT_EQ(fault_of("]q\0h\0a."s), ""); }

TEST(MalformedTorch, AViewBeyondAllNumbersIsRefused) {
  const std::uint64_t most = UINT64_MAX;
  EXPECT_FALSE(span_of({0, 4, {2}, {most}}));
  EXPECT_FALSE(span_of({0, 4, {most}, {1}}));
  EXPECT_FALSE(span_of({0, 1, {most, most}, {most, most}}));
  EXPECT_EQ(*span_of({0, 4, {0, most}, {most, most}}), 0u);
  EXPECT_EQ(*span_of({0, 4, {3, 2}, {2, 1}}), 6u);
  EXPECT_EQ(*span_of({0, 4, {3, 2}, {0, 5}}), 6u);
}

}  // namespace malformed_torch_test
}  // namespace tensorstat
