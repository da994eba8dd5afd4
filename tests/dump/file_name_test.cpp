// A dump file's name identifies its tensor. Any other name is only a name.

#include <gtest/gtest.h>

#include "stats/data/rows/names/mindspore_file_name.hpp"

namespace tensorstat {
namespace file_name_test {

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

// As MindSpore's debugger tests have it.
TEST(FileName, TheNameOfAParameterKeepsItsDots) {
  const NamedTensor named = named_tensor("Parameter.fc2.bias.0.0.1733905446819790.output.0.NONE.npy", kModified);
  EXPECT_EQ(named.identity.op_type, "Parameter");
  EXPECT_EQ(named.identity.op_name, "fc2.bias");
  EXPECT_EQ(named.identity.timestamp_us, 1733905446819790u);
  EXPECT_EQ(named_tensor("Parameter.bias.0.0.2.output.0.NONE.npy", kModified).identity.op_name, "bias");
}

TEST(FileName, TheDtypeMayBeMissingOrCapitalised) {
  const NamedTensor old = named_tensor("Add.Add-op0.0.0.12.output.0.NCHW.npy", kModified);
  EXPECT_EQ(old.identity.op_name, "Add-op0");
  EXPECT_EQ(old.identity.timestamp_us, 12u);
  EXPECT_EQ(old.original_dtype, "");
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.f.BFloat16.npy", 0).original_dtype, "bfloat16");
}

TEST(FileName, HasTheFormatWhereItIsOne) {
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.NC1HWC0.float16.npy", 0).format, "NC1HWC0");
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.FRACTAL_NZ.npy", 0).format, "FRACTAL_NZ");
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.30x17.npy", 0).format, "");
  EXPECT_EQ(named_tensor("Add.n.0.0.12.output.0.npy", 0).format, "");
}

// For types that .npy lacks, adump writes the raw bits without a shape.
TEST(FileName, OfBitsAloneIsKnown) {
  EXPECT_TRUE(is_named_as_bits("x/Sub.Default_network_Sub-op0.10.10.1735011096427368.input.0.ND.BF16"));
  EXPECT_TRUE(is_named_as_bits("Sub.n.10.10.1735011096427368.output.12.NC1HWC0.INT4"));
  for (const char* other : {"Sub.n.10.10.1735011096427368.input.0.ND.BF16.npy", "Sub.n.10.10.1735011096427368",
                            "Sub.n.10.10.1735011096427368.bin", "Sub.n.10.10.1735011096427368.input.0.ND.bf16",
                            "Sub.n.10.10.1735011096427368.input.0.some.BF16", "a.ND.BF16", "BF16", "", "x."}) {
    EXPECT_FALSE(is_named_as_bits(other)) << other;
  }
}

// msaccucmp's names for r1.5's asynchronous dump have a shape instead of a format, or nothing, and no stream id.
TEST(FileName, TheStreamAndTheFormatMayBeMissing) {
  const NamedTensor converted = named_tensor(
      "BNTrainingUpdate.Default_network_BNTrainingUpdate-op5489.137.1608983934774491.input.1.30x1024x17x17.npy",
      kModified);
  EXPECT_EQ(converted.identity.op_type, "BNTrainingUpdate");
  EXPECT_EQ(converted.identity.op_name, "Default_network_BNTrainingUpdate-op5489");
  EXPECT_EQ(converted.identity.task_id, 137u);
  EXPECT_EQ(converted.identity.stream_id, 0u);
  EXPECT_EQ(converted.identity.timestamp_us, 1608983934774491u);
  EXPECT_EQ(converted.identity.io, "input");
  EXPECT_EQ(converted.identity.slot, 1u);
  EXPECT_EQ(converted.original_dtype, "");
  const NamedTensor bare = named_tensor("Add.n.2.7.1612439563338020.output.3.npy", kModified);
  EXPECT_EQ(bare.identity.op_name, "n");
  EXPECT_EQ(bare.identity.stream_id, 7u);
  EXPECT_EQ(bare.identity.slot, 3u);
  // Two numbers, but no plausible time: this is a type with dots, without a name.
  expect_plain("A.5.2.7.output.0.f.npy", "A.5.2.7.output.0.f");
}

TEST(FileName, AFileOfSeveralTensorsNamesTheirRun) {
  for (const char* suffix : {"", ".bin", ".0.1.2.3"}) {
    const std::string path = "7/net/1/0/Conv2D.Default_Conv2D-op12.2.7.1612439563338020" + std::string(suffix);
    const auto run = named_run(path);
    ASSERT_TRUE(run) << path;
    EXPECT_EQ(run->op_name, "Default_Conv2D-op12");
    const Identity identity = named_tensor(path, kModified, "input.3").identity;
    EXPECT_EQ(identity.op_type, "Conv2D");
    EXPECT_EQ(identity.task_id, 2u);
    EXPECT_EQ(identity.stream_id, 7u);
    EXPECT_EQ(identity.timestamp_us, 1612439563338020u);
    EXPECT_EQ(identity.io, "input");
    EXPECT_EQ(identity.slot, 3u);
  }
  const Identity of_r1_5 = named_tensor("Add.Default_Add-op1.2.161243956333802", kModified, "output.0").identity;
  EXPECT_EQ(of_r1_5.op_name, "Default_Add-op1");
  EXPECT_EQ(of_r1_5.task_id, 2u);
  EXPECT_EQ(of_r1_5.stream_id, 0u);
  EXPECT_EQ(of_r1_5.timestamp_us, 161243956333802u);
  const Identity of_a_number = named_tensor("Add.12.2.161243956333802", kModified, "output.0").identity;
  EXPECT_EQ(of_a_number.op_name, "12");
  for (const char* tensor : {"layer.0.weight", "input", "input.x", "Input.0", "input.0.1", ""}) {
    const Identity plain = named_tensor("Add.n.2.7.1612439563338020", kModified, tensor).identity;
    EXPECT_EQ(plain.op_type, "Tensor");
    EXPECT_EQ(plain.op_name, tensor);
    EXPECT_EQ(plain.timestamp_us, kModified);
  }
  EXPECT_EQ(named_tensor("model.safetensors", kModified, "input.0").identity.op_name, "input.0");
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

}  // namespace file_name_test
}  // namespace tensorstat
