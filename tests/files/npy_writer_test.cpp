// Written files equal MindSpore's to the byte, and numpy can read them.
#include "stats/data/files/npy/npy_writer.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmath>
#include <cstring>

#include "stats/data/files/npy/npy_header.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace npy_writer_test {

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::string data_of(const std::string& path) {
  const std::string text = content_of(path);
  const auto length = static_cast<unsigned char>(text.at(8)) + 256u * static_cast<unsigned char>(text.at(9));
  return text.substr(10 + length);
}

TEST(NpyWriter, HeaderIsMindsporesToTheByte) {
  const std::string header = npy_header("<i4", {10, 100});
  ASSERT_EQ(header.size(), 128u);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  const std::string dictionary = "{'descr': '<i4', 'fortran_order': False, 'shape': (10,100,), }";
  EXPECT_EQ(header.substr(10, dictionary.size()), dictionary);
  EXPECT_EQ(header.find_first_not_of(' ', 10 + dictionary.size()), 127u);
  EXPECT_EQ(header[127], '\n');
  EXPECT_NE(npy_header("<f4", {}).find("'shape': (), }"), std::string::npos);
  EXPECT_NE(npy_header("<f4", {1}).find("'shape': (1,), }"), std::string::npos);
  for (const Shape& shape : {Shape{}, {1}, {3}, {8, 8}, {1, 3, 3, 3}}) {
    EXPECT_EQ(npy_header("<f4", shape).size(), 128u) << to_string(shape);
  }
}

TEST(NpyWriter, DataBeginAtAMultipleOf64WhateverTheShape) {
  Shape shape;
  for (int dimensions = 0; dimensions < 70; ++dimensions) {
    const std::string header = npy_header("<f4", shape);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header[header.size() - 2], ' ');
    shape.push_back(static_cast<std::uint64_t>(dimensions * 7));
  }
  const std::string large = npy_header("<f4", Shape(40000, 1));
  EXPECT_EQ(large.size() % 64, 0u);
  EXPECT_EQ(large[6], '\x02') << "version 2.0 beyond 65,535 bytes";
}

TEST(NpyWriter, AnIndependentReaderAgreesForEveryDtype) {
  for (int i = 0; i < kDtypeCount; ++i) {
    const auto dtype = static_cast<Dtype>(i);
    if (dtype == Dtype::kBfloat16 || is_packed(dtype)) continue;  // npy has no name for them
    const std::string header = npy_header(npy_descr(dtype), {3, 0, 2});
    const auto parsed = parse_npy_header(std::as_bytes(std::span(header)), header.size());
    if (npy_descr(dtype) == "|V1") {  // ml_dtypes writes four of the float8 like this: a reader cannot know which
      ASSERT_FALSE(parsed);
      EXPECT_NE(parsed.error().message.find(name(dtype)), std::string::npos) << parsed.error().message;
      continue;
    }
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(parsed->fields.size(), 1u);
    EXPECT_EQ(parsed->fields.front().dtype, dtype);
    EXPECT_EQ(parsed->shape, (Shape{3, 0, 2}));
    EXPECT_FALSE(parsed->fortran_order);
    EXPECT_FALSE(parsed->fields.front().swapped);
  }
}

TEST(NpyWriter, PlainBitsAreKept) {
  const ScratchFolder folder;
  const std::vector<double> values{1.5, -0.0, std::nan(""), 1e300};
  const std::string path = folder / "deep/er/x.npy";
  ASSERT_TRUE(write_npy(path, {.descr = "<f8", .shape = {4}, .bytes = bytes_of(values)}));
  EXPECT_EQ(std::memcmp(data_of(path).data(), values.data(), 32), 0);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_read);
}

TEST(NpyWriter, Bfloat16BecomesFloat32OfTheSameValues) {
  const ScratchFolder folder;
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  ASSERT_TRUE(write_npy(folder / "x.npy", {.descr = npy_descr(Dtype::kBfloat16),
                                           .shape = {65536},
                                           .widening = Widening::kBfloat16,
                                           .bytes = bytes_of(patterns)}));
  const std::string data = data_of(folder / "x.npy");
  ASSERT_EQ(data.size(), 4u * 65536);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, data.data() + 4 * i, 4);
    ASSERT_EQ(bits, i << 16);
  }
}

TEST(NpyWriter, Int4BecomesInt8LowHalfFirst) {
  const ScratchFolder folder;
  const std::vector<std::uint8_t> packed{0x10, 0x87, 0xf9, 0x03};
  for (const std::uint64_t count : {8, 7}) {
    ASSERT_TRUE(write_npy(folder / "x.npy",
                          {.descr = "|i1", .shape = {count}, .widening = Widening::kInt4, .bytes = bytes_of(packed)}));
    const signed char expected[] = {0, 1, 7, -8, -7, -1, 3, 0};
    const std::string data = data_of(folder / "x.npy");
    ASSERT_EQ(data.size(), count);
    EXPECT_EQ(std::memcmp(data.data(), expected, count), 0);
  }
}

TEST(NpyWriter, Uint1BecomesUint8HighBitFirstAndEndsWhereItEnds) {
  const ScratchFolder folder;
  const std::vector<std::uint8_t> packed{0b10110001, 0b01000000};
  for (const std::uint64_t count : {16, 8, 10, 3}) {
    ASSERT_TRUE(write_npy(folder / "x.npy",
                          {.descr = "|u1", .shape = {count}, .widening = Widening::kUint1, .bytes = bytes_of(packed)}));
    const char expected[] = {1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0};
    const std::string data = data_of(folder / "x.npy");
    ASSERT_EQ(data.size(), count);
    EXPECT_EQ(std::memcmp(data.data(), expected, count), 0);
  }
}

TEST(NpyWriter, PiecesMeetWithoutASeam) {
  const ScratchFolder folder;
  std::vector<std::uint8_t> packed(100001);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::uint8_t>(i * 37);
  ASSERT_TRUE(write_npy(folder / "x.npy",
                        {.descr = "|i1", .shape = {200002}, .widening = Widening::kInt4, .bytes = bytes_of(packed)}));
  const std::string data = data_of(folder / "x.npy");
  ASSERT_EQ(data.size(), 200002u);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data[i] & 0xf, packed[i / 2] >> (i % 2 * 4) & 0xf) << i;
  }
}

int failing = 0;
int call_number = 0;

TEST(NpyWriter, AFaultLeavesNothingNewAndWhatWasThere) {
  const ScratchFolder folder;
  const std::vector<double> values(1000, 1.0);
  const std::string path = folder / "x.npy";
  std::ofstream(path) << "before";
  for (failing = 1; failing <= 3; ++failing) {
    call_number = 0;
    judge_file_call = [](FileCall call) -> Verdict {
      if (call != FileCall::kOpen && call != FileCall::kWrite) return {};
      return ++call_number == failing ? Verdict{.error = ENOSPC} : Verdict{.most_bytes = 5000};
    };
    const Status status = write_npy(path, {.descr = "<f8", .shape = {1000}, .bytes = bytes_of(values)});
    judge_file_call = nullptr;
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find(path), std::string::npos);
    EXPECT_NE(status.error().message.find("No space"), std::string::npos);
    EXPECT_EQ(content_of(path), "before");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  }
}

TEST(NpyWriter, AFileSizeLimitDoesNotKill) {
  const ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{1000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::vector<double> values(1000, 1.0);
    const Status status = write_npy(folder / "x.npy", {.descr = "<f8", .shape = {1000}, .bytes = bytes_of(values)});
    _exit(status ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace npy_writer_test
}  // namespace tensorstat
