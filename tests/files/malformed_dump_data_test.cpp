// A wrong Ascend dump file is refused with a short, printable reason. The sizes that it claims allocate no memory. One
// unreadable tensor does not affect the others.
#include <gtest/gtest.h>

#include "stats/data/files/ascend/dump_data.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/support/dump_data_files.hpp"

namespace tensorstat {
namespace malformed_dump_data_test {

using namespace std::string_literals;
using test::dump_file;
using test::eight_bytes;
using test::write_file;

// A field with bytes; its number must be below 16.
std::string field(int number, const std::string& bytes) {
  std::string length;
  for (std::size_t left = bytes.size();; left >>= 7) {
    length += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (left <= 0x7f) break;
  }
  return static_cast<char>(number << 3 | 2) + length + bytes;
}

const std::string kVersion =
    "\x0a\x03"
    "2.0";
const std::string kLongest(9, '\xff');  // a varint of ten bytes, without its last

// A file with one input that has this message.
std::string one(const std::string& input, const std::string& data) {
  return dump_file(kVersion + field(4, input), data);
}

class MalformedDumpData : public testing::Test {
 protected:
  // The error of the file or of its first refused tensor; empty if all are read.
  std::string complaint_of(const std::string& bytes) {
    auto source = open_tensors(write_file(folder / "A.b.1.2.1612439563338023", bytes), {});
    if (!source) return source.error().message;
    while (const auto tensor = (*source)->next()) {
      if (!*tensor) return tensor->error().message;
    }
    return "";
  }

  ScratchFolder folder;
};

TEST_F(MalformedDumpData, IsRefusedWithTheReason) {
  const std::string four = "\x28\x04", float32 = "\x08\x01", shape_of_one = "\x1a\x02\x08\x01";
  std::string many_dims;
  for (int i = 0; i < 65; ++i) many_dims += '\1';
  const std::string huge = "\x0a\x0b" + kLongest +
                           "\x01"
                           "\x03";
  const std::pair<std::string, const char*> cases[] = {
      {"", "is too short"},
      {"1234567", "is too short"},
      {eight_bytes(1), "would have 1 bytes; 0 are there"},
      {eight_bytes(~std::uint64_t{0}) + kVersion, "would have 18446744073709551615 bytes; 5 are there"},
      {eight_bytes(std::uint64_t{1} << 40) + kVersion, "would have 1099511627776 bytes; 5 are there"},
      {eight_bytes(6) + kVersion, "would have 6 bytes; 5 are there"},
      {eight_bytes(4) + kVersion, "damaged at its byte 10: a field of 3 bytes, and its message has 2 left"},
      {eight_bytes(1) + kVersion, "a number goes beyond the end of its message"},
      {dump_file(kVersion, "x"), "1 bytes at its end belong to no tensor"},
      {one(float32 + shape_of_one + four, ""), "more than the 0 bytes that follow"},
      {one(float32 + shape_of_one + four, "123"), "more than the 3 bytes that follow"},
      {one(float32 + shape_of_one + four, "12345"), "1 bytes at its end belong to no tensor"},
      {one(float32 + "\x28" + kLongest + "\x01", "1234"), "more than the 4 bytes that follow"},
      {dump_file(kVersion + field(4, "\x28" + kLongest + "\x01") + field(4, "\x28\x05"), "1234"),
       "more than the 4 bytes"},
      {dump_file(kVersion + field(5, "\x18\x05"), "1234"), "more than the 4 bytes that follow"},
      {dump_file(kVersion + field(8, "\x18" + kLongest + "\x01"), "1234"), "more than the 4 bytes that follow"},
      {one("\x08" + kLongest + "\x80\x01", ""), "a number has more than ten bytes"},
      {one("\x02\x00"s, ""), "no field has the number 0"},
      {one("\xfa\xff\xff\xff\x1f\x00"s, ""), "no field has the number 1073741823"},
      {one("\x0b\x0c", ""), "a field of wire type 3"},
      {one("\x0f", ""), "a field of wire type 7"},
      {one("\x09"
           "1234",
           ""),
       "a field of 8 bytes, and its message has 4 left"},
      {one("\x0d"
           "123",
           ""),
       "a field of 4 bytes, and its message has 3 left"},
      {one("\x1a\x7f", ""), "a field of 127 bytes, and its message has 0 left"},
      {one("\x1a" + kLongest + "\x01", ""), "a field of 18446744073709551615 bytes"},
      {one(float32 + field(3, "\x0a\x02\x80\x80"), ""), "a number goes beyond the end of its message"},
      {one(float32 + field(3, field(1, many_dims)) + four, "1234"), "more than 64 dimensions"},
      {one(float32 + field(3, field(1, many_dims.substr(1)) + "\x08\x01") + four, "1234"), "more than 64 dimensions"},
      {one(float32 + field(3, "\x08\x02") + four, "1234"),
       "::input.0: shape (2) of DT_FLOAT (float32) needs 8 bytes, and it has 4"},
      {one(float32 + field(3, huge) + four, "1234"), "::input.0: "},
      {one("\x08\x0d" + shape_of_one + four, "1234"), "::input.0: its data type 13 is not supported"},
      {one("\x08" + kLongest + "\x01" + shape_of_one + four, "1234"), "::input.0: its data type -1 is not supported"},
  };
  for (const auto& [bytes, words] : cases) {
    const std::string complaint = complaint_of(bytes);
    EXPECT_NE(complaint.find(words), std::string::npos) << "wanted: " << words << "\ngot:    " << complaint;
    EXPECT_EQ(complaint.find(folder / "A.b.1.2.1612439563338023"), 0u) << complaint;
    EXPECT_LT(complaint.size(), 500u) << complaint;
    for (const unsigned char c : complaint) ASSERT_TRUE(c >= ' ' && c != 0x7f) << complaint;
  }
}

TEST_F(MalformedDumpData, MoreTensorsThanTheLimitAreRefused) {
  std::string message = kVersion;
  for (std::size_t i = 0; i < kMostDumpTensors; ++i) message += "\x22\x00"s;
  EXPECT_EQ(complaint_of(dump_file(message, "")), "");
  EXPECT_NE(complaint_of(dump_file(message + "\x1a\x00"s, "")).find("names more than 100000 tensors"),
            std::string::npos);
}

TEST_F(MalformedDumpData, EveryBeginningIsRefused) {
  const std::string whole = one("\x08\x01\x1a\x02\x08\x01\x28\x04", "1234");
  EXPECT_EQ(complaint_of(whole), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(complaint_of(whole.substr(0, bytes)), "") << bytes;
  }
}

TEST_F(MalformedDumpData, AnyChangedByteIsReadOrRefused) {
  const std::string whole = dump_file(kVersion + field(3, "\x08\x04\x1a\x03\x0a\x01\x02\x30\x02") +
                                          field(4, "\x08\x1b\x1a\x02\x08\x01\x28\x02") + field(6, "op"),
                                      "1234");
  EXPECT_EQ(complaint_of(whole), "");
  for (std::size_t offset = 0; offset < whole.size(); ++offset) {
    for (const char value : {'\0', '\1', '\2', '\3', '\x08', '\x0a', '\x1a', '\x22', '\x28', '\x7f', '\x80', '\xff'}) {
      std::string changed = whole;
      changed[offset] = value;
      EXPECT_LT(complaint_of(changed).size(), 500u);
    }
  }
}

TEST_F(MalformedDumpData, OneTensorThatIsRefusedLeavesTheOthers) {
  const std::string path = write_file(
      folder / "A.b.1.2.1612439563338023",
      dump_file(kVersion + field(4, "\x08\x21\x1a\x02\x08\x01\x28\x01") + field(4, "\x08\x04\x1a\x02\x08\x02\x28\x02"),
                "?xy"));
  auto source = open_tensors(path, {});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->count(), 2u);
  const auto first = (*source)->next();
  auto second = (*source)->next();
  ASSERT_TRUE(first && second && !(*source)->next());
  EXPECT_EQ(first->error().message, path + "::input.0: dtype DT_HIFLOAT8 (hifloat8) is not supported");
  ASSERT_TRUE(*second);
  std::byte values[2];
  const auto got = (*second)->read(values);
  ASSERT_TRUE(got && *got == 2);
  EXPECT_EQ(values[1], std::byte{'y'});
}

TEST_F(MalformedDumpData, AFileThatShrinksMeanwhileIsAnError) {
  // 65,536 elements of uint8: more than the read-ahead.
  const std::string input = "\x08\x04\x1a\x04\x08\x80\x80\x04\x28\x80\x80\x04";
  const std::string path = write_file(folder / "A.b.1.2.1612439563338023", one(input, std::string(65536, 'x')));
  auto source = open_tensors(path, {});
  ASSERT_TRUE(source);
  auto tensor = (*source)->next();
  ASSERT_TRUE(tensor && *tensor);
  std::filesystem::resize_file(path, 20);
  std::vector<std::byte> values(65536);
  const auto got = (*tensor)->read(values);
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("was cut short"), std::string::npos);
}

}  // namespace malformed_dump_data_test
}  // namespace tensorstat
