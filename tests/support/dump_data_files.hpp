// For tests: Ascend's dump files, with the message encoded by protoc.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/support/built.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat::test {

// Runs protoc on `input`: --encode turns text into bytes, --decode turns bytes into text.
inline std::string protoc(std::string_view how, std::string_view input) {
  const ScratchFolder folder;
  write_file(folder / "in", input);
  const std::string command = "protoc -I '" + built::source_dir() + "/tests/files' --" + std::string(how) +
                              "=DumpData dump_data.proto <'" + (folder / "in") + "' >'" + (folder / "out") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << input;
  return content_of(folder / "out");
}

inline std::string eight_bytes(std::uint64_t number) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(number >> 8 * i & 0xff);
  return text;
}

// A file: the length of the message, the message, and `data`.
inline std::string dump_file(std::string_view message, std::string_view data) {
  return eight_bytes(message.size()).append(message).append(data);
}

}  // namespace tensorstat::test
