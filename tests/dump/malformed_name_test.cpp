// No part of a name is used if it is almost a dump file's name.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "stats/data/rows/names/mindspore_file_name.hpp"

namespace tensorstat {
namespace malformed_name_test {

using namespace std::string_view_literals;

constexpr std::string_view kSound = "A.b.0.0.1.input.0.f.float32";

constexpr std::string_view kMalformed[] = {
    // Neither input nor output.
    "A.b.0.0.1.inout.0.f.float32",
    "A.b.0.0.1.Input.0.f.float32",
    "A.b.0.0.1.OUTPUT.0.f.float32",
    "A.b.0.0.1.input .0.f.float32",
    "A.b.0.0.1. input.0.f.float32",
    "A.b.0.0.1.in.0.f.float32",
    "A.b.0.0.1.0.input.f.float32",
    // Not numbers.
    "A.b.x.0.1.input.0.f.float32",
    "A.b.-1.0.1.input.0.f.float32",
    "A.b.+1.0.1.input.0.f.float32",
    "A.b. 0.0.1.input.0.f.float32",
    "A.b.0. 0.1.input.0.f.float32",
    "A.b.0.0 .1.input.0.f.float32",
    "A.b.0.0.1e3.input.0.f.float32",
    "A.b.0.0.0x1.input.0.f.float32",
    "A.b.0.0.1.input.0x1.f.float32",
    "A.b.0.0.1.input.1_0.f.float32",
    "A.b.0.0.1.input.\xd9\xa1.f.float32",  // a digit, in Arabic
    "A.b.0.nan.1.input.0.f.float32",
    "A.b.18446744073709551616.0.1.input.0.f.float32",
    "A.b.0.18446744073709551616.1.input.0.f.float32",
    "A.b.0.0.18446744073709551616.input.0.f.float32",
    "A.b.0.0.1.input.18446744073709551616.f.float32",
    "A.b.0.0.1.input.99999999999999999999999999999999.f.float32",
    // Empty parts.
    "A..0.0.1.input.0.f.float32",
    ".b.0.0.1.input.0.f.float32",
    "A.b..0.1.input.0.f.float32",
    "A.b.0..1.input.0.f.float32",
    "A.b.0.0..input.0.f.float32",
    "A.b.0.0.1..0.f.float32",
    "A.b.0.0.1.input..f.float32",
    "A.b.0.0.1.input.0..float32",
    "A.b.0.0.1.input.0.f.",
    // Too few parts, too many, or different ones.
    ".",
    "........",
    "A",
    "A.b",
    "A.b.0.0.1.input",
    "A.0.0.1.input.0.f",
    "b.0.0.1.input.0.f",
    "0.0.1.input.0.f.float32",
    "A.b.0.0.1.input.0.f.float32.copy",
    "A.b.0.0.1.input.0.f.float32.npy",
    "A_b_0_0_1_input_0_f_float32",
    "A,b,0,0,1,input,0,f,float32",
    "A.b.0.0.1.input.0\0.f.float32"sv,
};

TEST(MalformedName, TheOneTheyAreMadeOfIsSound) {
  const auto named = named_tensor(std::string(kSound) + ".npy", 5);
  EXPECT_EQ(named.identity.op_type, "A");
  EXPECT_EQ(named.identity.op_name, "b");
  EXPECT_EQ(named.identity.timestamp_us, 1u);
}

TEST(MalformedName, TellsNothingButItself) {
  EXPECT_GE(std::size(kMalformed), 45u);
  for (const std::string_view stem : kMalformed) {
    const auto named = named_tensor("rank_0/net/" + std::string(stem) + ".npy", 5);
    EXPECT_EQ(named.identity.op_type, "Tensor") << stem;
    EXPECT_EQ(named.identity.op_name, stem);
    EXPECT_EQ(named.identity.task_id, 0u) << stem;
    EXPECT_EQ(named.identity.stream_id, 0u) << stem;
    EXPECT_EQ(named.identity.timestamp_us, 5u) << stem;
    EXPECT_EQ(named.identity.io, "output") << stem;
    EXPECT_EQ(named.identity.slot, 0u) << stem;
    EXPECT_EQ(named.original_dtype, "") << stem;
  }
}

TEST(MalformedName, WithoutTheExtensionNothingIsBelieved) {
  for (const char* extension : {"", ".NPY", ".npy ", ".npy~", ".npz", ".bin", ".npy.gz"}) {
    const std::string name = std::string(kSound) + extension;
    EXPECT_EQ(named_tensor("folder/" + name, 5).identity.op_name, name);
    EXPECT_EQ(named_tensor("folder/" + name, 5).identity.op_type, "Tensor");
  }
}

}  // namespace malformed_name_test
}  // namespace tensorstat
