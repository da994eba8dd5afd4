// The device's partials equal the definition's, bit for bit, in every shape of the kernels, with and without fp64.
// Registered once for each shape, by TENSORSTAT_CL_SHAPE and TENSORSTAT_CL_FP64.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace device_shapes_test {

// Each shape and dtype is a program to build, and there is a second program if the needs alternate between everything
// and no sums. The quick tests build both programs for float32, and the first one as users have it for the dtypes
// below; for the others without optimisation. With a forced shape they build only the first, for one dtype of each
// family.
bool is_built_as_for_users(Dtype dtype) {
  return samples::full() || dtype == Dtype::kFloat32 || dtype == Dtype::kBfloat16 || dtype == Dtype::kInt8 ||
         dtype == Dtype::kInt4;
}
bool is_forced() {
  return std::getenv("TENSORSTAT_CL_SHAPE") != nullptr || std::getenv("TENSORSTAT_CL_FP64") != nullptr;
}
bool is_left_to_full(Dtype dtype) {
  return !samples::full() && is_forced() &&
         (!samples::stands_for_its_family(dtype) || samples::is_tried_with_fp64(dtype));
}

class OfADtype : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override {
    if (is_forced() || is_built_as_for_users(GetParam())) return;
    for (const char* each : kUnoptimised) setenv(each, "0", 1);
  }
  void TearDown() override {
    if (is_forced()) return;
    for (const char* each : kUnoptimised) unsetenv(each);
  }

 private:
  static constexpr const char* kUnoptimised[] = {"POCL_WORK_GROUP_SPECIALIZATION", "TENSORSTAT_CL_OPTIMIZE"};
};

class DeviceShapes : public OfADtype {};
INSTANTIATE_TEST_SUITE_P(Dtype, DeviceShapes, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(DeviceShapes, AgreeWithTheOracle) {
  if (is_left_to_full(GetParam())) GTEST_SKIP() << "left to the full tests";
  samples::Random random(samples::seed() + static_cast<std::uint64_t>(GetParam()));
  HeldToOracle cases(GetParam(), every_engine());
  const bool has_two = samples::full() || (!is_forced() && GetParam() == Dtype::kFloat32);
  for (const samples::Distribution& distribution : samples::of(GetParam())) {
    for (const std::size_t count : {0, 1, 3, 31, 257, 1023, 4097, 65537}) {
      const std::size_t step = size_bytes(GetParam());
      const Needs needs = random() % 4 == 0 && has_two ? Needs{kExtrema | kSigns} : kEverything;
      cases.add(std::string(distribution.name), distribution.make(GetParam(), count, random),
                HeldToOracle::Way{random() % 16 / step * step, needs});
    }
  }
  cases.hold();
  if (HasFatalFailure()) return;
  // Several slices that add to one partial, in either shape.
  const samples::Distribution& first = samples::of(GetParam())[0];
  cases.add(std::string(first.name), first.make(GetParam(), 700'001, random), HeldToOracle::Way{});
  cases.hold();
  std::printf("%zu cases of %s\n", cases.case_count(), std::string(name(GetParam())).c_str());
}

class PackedShapes : public OfADtype {};
INSTANTIATE_TEST_SUITE_P(Dtype, PackedShapes, testing::ValuesIn(samples::packed_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// Every count up to a few bytes, several vectors, several slices.
TEST_P(PackedShapes, AgreeWithTheOracle) {
  if (is_left_to_full(GetParam())) GTEST_SKIP() << "left to the full tests";
  samples::Random random(samples::seed() + static_cast<std::uint64_t>(GetParam()));
  HeldToOracle cases(GetParam(), every_engine());
  std::vector<std::uint64_t> counts = {1023, 4097, 65'537, samples::full() ? 3'000'001u : 700'001u};
  for (std::uint64_t count = 0; count < 40; ++count) counts.push_back(count);
  for (const std::uint64_t count : counts) {
    std::vector<std::byte> bytes(bytes_of(GetParam(), count));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const HeldToOracle::Way way{random() % 16};
    cases.add_packed("any bits", bytes, count, {&way, 1});
  }
  cases.hold();
}

}  // namespace device_shapes_test
}  // namespace tensorstat
