// A wrong .safetensors file is refused with a short, printable reason. The sizes that it claims allocate no memory. One
// unreadable tensor does not affect the others.
#include <gtest/gtest.h>

#include <cstring>

#include "stats/data/files/tensor_source.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat {
namespace malformed_safetensors_test {

using test::write_file;

std::string length_of(std::uint64_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(bytes >> 8 * i & 0xff);
  return text;
}

// A file with this header, its correct length, and data.
std::string file_of(const std::string& header, const std::string& data = "") {
  return length_of(header.size()) + header + data;
}

// A header with one tensor x and these values.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"x":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

const std::string kFour = "1234";

class MalformedSafetensors : public testing::Test {
 protected:
  // The error of the file or of its last refused tensor; empty if all are read.
  std::string complaint_of(const std::string& bytes) {
    auto source = open_tensors(write_file(folder / "x.safetensors", bytes), {});
    if (!source) return source.error().message;
    std::string complaint;
    while (const auto tensor = (*source)->next()) {
      if (!*tensor) complaint = tensor->error().message;
    }
    return complaint;
  }

  ScratchFolder folder;
};

TEST_F(MalformedSafetensors, IsRefusedWithTheReason) {
  const std::string deep(5'000, '[');
  const std::string long_name(100'000, 'n');
  const std::pair<std::string, const char*> cases[] = {
      {"", "is too short"},
      {"12345678", "is too short"},
      {length_of(0) + "{}", "does not begin with {"},
      {length_of(1) + "[", "does not begin with {"},
      {length_of(3) + " {}", "does not begin with {"},
      {length_of(100) + "{}", "would have 100 bytes; 2 are there"},
      {length_of(~std::uint64_t{0}) + "{}", "at most 100000000 are allowed"},
      {length_of(100'000'001) + "{}", "at most 100000000 are allowed"},
      {length_of(100'000'000) + "{}", "would have 100000000 bytes; 2 are there"},
      {file_of("{"), "no JSON at its byte"},
      {file_of("{]"), "no JSON"},
      {file_of("{} x"), "no JSON"},
      {file_of("{}{}"), "no JSON"},
      {file_of(std::string("{}\0", 3)), "a NUL byte at its byte 3"},
      {file_of("{\"\xff\":1}"), "no JSON"},
      {file_of("{'x':1}"), "no JSON"},
      {file_of("{\"x\x1b[31m\":1}"), "no JSON"},
      {file_of(R"({"\u001b[31m":1})"), "'\\x1b[31m' is a number, not an object"},
      {file_of(R"({"x":null})"), "'x' is null, not an object"},
      {file_of(R"({"x":[]})"), "'x' is an array, not an object"},
      {file_of(R"({"x":)" + deep), "'x' is an array"},
      {file_of(R"({"x":{}})"), "tensor 'x' has no dtype"},
      {file_of(R"({"x":{"dtype":"F32","shape":[1]}})"), "tensor 'x' has no data_offsets"},
      {file_of(R"({"x":{"dtype":"F32","data_offsets":[0,4]}})", kFour), "tensor 'x' has no shape"},
      {file_of(R"({"x":{"dtype":"F32","dtype":"F32"}})"), "the key 'dtype' comes twice"},
      {file_of(R"({"x":{"strides":[1]}})"), "the unknown key 'strides'"},
      {file_of(R"({"x":{"dtype":{}}})"), "dtype of tensor 'x' is an object"},
      {file_of(R"({"__metadata__":{"k":1}})"), "'k' in __metadata__ is a number, not a string"},
      {file_of(R"({"__metadata__":{"k":{}}})"), "'k' in __metadata__ is an object, not a string"},
      {file_of(R"({"__metadata__":"k"})"), "'__metadata__' is a string, not an object"},
      {file_of(R"({"__metadata__":{"k":"a","k":"b"}})"), "the key 'k' comes twice"},
      {file_of(one("1", "[1]", "[0,4]"), kFour), "dtype of tensor 'x' is a number"},
      {file_of(one("true", "[1]", "[0,4]"), kFour), "dtype of tensor 'x' is a boolean"},
      {file_of(one("\"F32\"", "1", "[0,4]"), kFour), "shape of tensor 'x' is a number"},
      {file_of(one("\"F32\"", "[-1]", "[0,4]"), kFour), "shape of tensor 'x' holds a negative number"},
      {file_of(one("\"F32\"", "[1.0]", "[0,4]"), kFour), "a number that is not whole"},
      {file_of(one("\"F32\"", "[18446744073709551616]", "[0,4]"), kFour), "not below 2^64"},
      {file_of(one("\"F32\"", "[1e999]", "[0,4]"), kFour), "no JSON"},
      {file_of(one("\"F32\"", "[[1]]", "[0,4]"), kFour), "shape of tensor 'x' holds an array"},
      {file_of(one("\"F32\"", "[\"1\"]", "[0,4]"), kFour), "shape of tensor 'x' holds a string"},
      {file_of(one("\"F32\"", "[1" + std::string(200, ' ') + "]", "[0]"), kFour), "are not two numbers"},
      {file_of(one("\"F32\"", "[1]", "[0,4,4]"), kFour), "more than two numbers"},
      {file_of(one("\"F32\"", "[1]", "[4,0]"), kFour), "ends before it begins: 4 to 0"},
      {file_of(one("\"F32\"", "[1]", "[0,8]"), kFour), "::x: shape (1) of float32 needs 4 bytes, and it has 8"},
      {file_of(one("\"F32\"", "[1]", "[0,18446744073709551615]"), kFour), "and it has 18446744073709551615"},
      {file_of(one("\"U8\"", "[3]", "[1,4]"), kFour), "begins behind a hole of 1 bytes"},
      {file_of(one("\"U8\"", "[3]", "[0,3]"), kFour), "1 bytes at its end belong to no tensor"},
      {file_of("{}", kFour), "4 bytes at its end belong to no tensor"},
      {file_of(
           R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
           kFour),
       "tensor 'b' overlaps the one before it"},
      {file_of(
           R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
           kFour),
       "tensor 'b' overlaps"},
      {file_of(
           R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
           kFour),
       "tensor 'b' begins behind a hole of 1 bytes"},
      {file_of(
           R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"x":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})",
           kFour),
       "the key 'x' comes twice"},
      {file_of(one("\"F32\"", "[2]", "[0,4]"), kFour), "::x: shape (2) of float32 needs 8 bytes, and it has 4"},
      {file_of(one("\"F32\"", "[]", "[0,0]")), "shape () of float32 needs 4 bytes, and it has 0"},
      {file_of(one("\"F32\"", "[4294967296,4294967296]", "[0,4]"), kFour), "::x: "},
      {file_of(one("\"F32\"", "[9223372036854775807,3]", "[0,4]"), kFour), "::x: "},
      {file_of(one("\"C64\"", "[1]", "[0,4]"), kFour), "::x: shape (1) of complex64 needs 8 bytes, and it has 4"},
      {file_of(one("\"F6_E2M3\"", "[4]", "[0,3]"), "123"),
       "::x: dtype F6_E2M3 (float6_e2m3fn) is not supported: save it as F8_E4M3, which has each of its values"},
      {file_of(one("\"F6_E3M2\"", "[4]", "[0,3]"), "123"),
       "::x: dtype F6_E3M2 (float6_e3m2fn) is not supported: save it as F8_E4M3, which has each of its values"},
      {file_of(one("\"F4\"", "[9]", "[0,5]"), kFour + "5"), "::x: shape (9) of float4_e2m1fn ends within a byte"},
      {file_of(one("\"F4\"", "[10]", "[0,4]"), kFour), "shape (10) of float4_e2m1fn needs 5 bytes, and it has 4"},
      {file_of(one("\"F4\"", "[9223372036854775806]", "[0,4]"), kFour),
       "needs 4611686018427387903 bytes, and it has 4"},
      {file_of(one("\"F4\"", "[4294967296,4294967296]", "[0,4]"), kFour), "::x: "},
      {file_of(one("\"F8_E8M0\"", "[3]", "[0,4]"), kFour), "shape (3) of float8_e8m0fnu needs 3 bytes, and it has 4"},
      {file_of(one("\"F128\"", "[1]", "[0,4]"), kFour), "::x: its dtype 'F128' is none of the format"},
      {file_of(one("\"f32\"", "[1]", "[0,4]"), kFour), "::x: its dtype 'f32' is none of the format"},
      {file_of("{\"" + long_name + "\":1}"), "nnn...' is a number"},
      {file_of("{\"" + long_name + "\":{\"dtype\":2}}"), "nnn...' is a number"},
  };
  for (const auto& [bytes, words] : cases) {
    const std::string complaint = complaint_of(bytes);
    EXPECT_NE(complaint.find(words), std::string::npos) << "wanted: " << words << "\ngot:    " << complaint;
    EXPECT_EQ(complaint.find(folder / "x.safetensors"), 0u) << complaint;
    EXPECT_LT(complaint.size(), 500u) << complaint;
    for (const unsigned char c : complaint) ASSERT_TRUE(c >= ' ' && c != 0x7f) << complaint;
  }
}

TEST_F(MalformedSafetensors, EveryBeginningIsRefused) {
  const std::string whole =
      file_of(R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}} )", kFour);
  EXPECT_EQ(complaint_of(whole), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_NE(complaint_of(whole.substr(0, bytes)), "") << bytes;
  }
}

TEST_F(MalformedSafetensors, AnyChangedByteIsReadOrRefused) {
  const std::string whole = file_of(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"BF16","shape":[1,1],"data_offsets":[2,4]}})",
      kFour);
  for (std::size_t offset = 0; offset < whole.size(); ++offset) {
    for (const char value : {'\0', ' ', '"', '0', '9', ',', '{', ']', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[offset] = value;
      const std::string complaint = complaint_of(changed);
      EXPECT_LT(complaint.size(), 500u) << complaint;
    }
  }
}

TEST_F(MalformedSafetensors, OneTensorThatIsRefusedLeavesTheOthers) {
  const auto path = write_file(
      folder / "x.safetensors",
      file_of(
          R"({"c":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},"a":{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]},)"
          R"("b":{"dtype":"U8","shape":[5],"data_offsets":[2,3]}})",
          kFour));
  auto source = open_tensors(path, {});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->count(), 3u);
  const auto a = (*source)->next(), b = (*source)->next();
  auto c = (*source)->next();
  ASSERT_TRUE(a && b && c && !(*source)->next());
  EXPECT_EQ(a->error().message, path +
                                    "::a: dtype F6_E2M3 (float6_e2m3fn) is not supported: save it as F8_E4M3, "
                                    "which has each of its values");
  EXPECT_EQ(b->error().message, path + "::b: shape (5) of uint8 needs 5 bytes, and it has 1");
  ASSERT_TRUE(*c);
  EXPECT_EQ((*c)->name(), "c");
  std::byte value{};
  const auto got = (*c)->read({&value, 1});
  ASSERT_TRUE(got && *got == 1);
  EXPECT_EQ(value, std::byte{'4'});
}

// Every byte is cut off in turn: what lies before the cut is read, the file's end is said once.
TEST_F(MalformedSafetensors, TensorsBeforeACutAreRead) {
  const std::string header = R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]},)"
                             R"("none":{"dtype":"F32","shape":[0],"data_offsets":[2,2]},)"
                             R"("a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})";
  const std::string whole = file_of(header, "12345");
  for (std::size_t there = 0; there <= 7; ++there) {
    const auto path = write_file(folder / "x.safetensors", whole.substr(0, whole.size() - 5) + std::string(there, 'x'));
    for (const bool head_only : {false, true}) {
      auto source = open_tensors(path, {.head_only = head_only});
      ASSERT_TRUE(source) << source.error().message;
      std::string read;
      std::vector<Error> errors;
      for (std::uint64_t left = *(*source)->count(); auto tensor = (*source)->next(); --left) {
        EXPECT_EQ(*(*source)->count(), left - 1);
        *tensor ? read += *(*tensor)->name() + " " : (errors.push_back(tensor->error()), read);
        std::byte bytes[8];
        if (*tensor && !head_only) {
          const auto got = (*tensor)->read(bytes);
          EXPECT_TRUE(got && *got == (*tensor)->data_size_bytes());
        }
      }
      EXPECT_EQ(read, head_only || there >= 5 ? "a none b " : there >= 2 ? "a none " : "") << there;
      ASSERT_EQ(errors.empty(), there == 5);
      if (there == 5) continue;
      EXPECT_EQ(errors.front().message,
                path + (there > 5 ? ": " + std::to_string(there - 5) + " bytes at its end belong to no tensor"
                                  : ": is cut short: " + std::to_string(there) +
                                        " of the 5 bytes behind its header are there"));
      EXPECT_EQ(errors.front().code, head_only && there < 5 ? Code::kNoNumbers : Code::kUnreadable);
      if (!head_only && there == 3) {
        EXPECT_EQ(errors.back().message, path + "::b: is not whole: the file has 1 of its 3 bytes");
      }
    }
  }
}

TEST_F(MalformedSafetensors, WhatIsNoFormatAtAllIsSaid) {
  const auto refused = open_tensors(write_file(folder / "x.bin", "some bytes\1of something"), {});
  ASSERT_FALSE(refused);
  const std::string begins = folder / "x.bin" + ": unknown format; supported: .npy, .npz, ";
  EXPECT_EQ(refused.error().message.substr(0, begins.size()), begins);
}

}  // namespace malformed_safetensors_test
}  // namespace tensorstat
