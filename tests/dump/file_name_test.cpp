// A dump file's name tells whose tensor it holds; any other name tells only itself.

#include "stats/dump/mindspore/file_name.hpp"

#include <gtest/gtest.h>

namespace tensorstat {
namespace {

constexpr std::uint64_t kModified = 1733905446000001;

void expect_plain(const std::string& path, const std::string& stem) {
  const NamedTensor named = named_tensor(path, kModified);
  EXPECT_EQ(named.identity.op_type, "Tensor") << path;
  EXPECT_EQ(named.identity.op_name, stem) << path;
  EXPECT_EQ(named.identity.task_id, 0u);
  EXPECT_EQ(named.identity.stream_id, 0u);
  EXPECT_EQ(named.identity.timestamp_us, kModified);
  EXPECT_EQ(named.identity.io, "output");
  EXPECT_EQ(named.identity.slot, 0u);
  EXPECT_EQ(named.original_dtype, "");
}

TEST(FileName, GivesTheIdentity) {
  const NamedTensor named = named_tensor(
      "dump/rank_0/net/0/3/"
      "Conv2D.Default_network_Conv2D-op12.7.3.1733905446819790.input.2.DefaultFormat.float16.npy",
      kModified);
  EXPECT_EQ(named.identity.op_type, "Conv2D");
  EXPECT_EQ(named.identity.op_name, "Default_network_Conv2D-op12");
  EXPECT_EQ(named.identity.task_id, 7u);
  EXPECT_EQ(named.identity.stream_id, 3u);
  EXPECT_EQ(named.identity.timestamp_us, 1733905446819790u);
  EXPECT_EQ(named.identity.io, "input");
  EXPECT_EQ(named.identity.slot, 2u);
  EXPECT_EQ(named.original_dtype, "float16");
}

TEST(FileName, TheDtypeMayBeMissingOrCapitalised) {
  const NamedTensor old = named_tensor("Add.Add-op0.0.0.12.output.0.NCHW.npy", kModified);
  EXPECT_EQ(old.identity.op_name, "Add-op0");
  EXPECT_EQ(old.identity.timestamp_us, 12u);
  EXPECT_EQ(old.original_dtype, "");
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.f.BFloat16.npy", 0).original_dtype, "bfloat16");
}

TEST(FileName, OnlyTheOperatorTypeMayHoldDots) {
  const NamedTensor named = named_tensor("my.own.Op.name.1.2.3.output.4.ND.int4.npy", kModified);
  EXPECT_EQ(named.identity.op_type, "my.own.Op");
  EXPECT_EQ(named.identity.op_name, "name");
  EXPECT_EQ(named.identity.slot, 4u);
  EXPECT_EQ(named.original_dtype, "int4");
}

TEST(FileName, TheLargestNumbersFit) {
  const NamedTensor named = named_tensor(
      "A.b.18446744073709551615.18446744073709551615.18446744073709551615.output."
      "18446744073709551615.f.npy",
      kModified);
  EXPECT_EQ(named.identity.slot, ~std::uint64_t{0});
  EXPECT_EQ(named.identity.timestamp_us, ~std::uint64_t{0});
}

TEST(FileName, AnyOtherNameIsATensor) {
  expect_plain("x.npy", "x");
  expect_plain("/a/b.c/x.y.npy", "x.y");
  expect_plain("./weights", "weights");
  expect_plain(".npy", ".npy");
  expect_plain("", "");
}

}  // namespace
}  // namespace tensorstat
