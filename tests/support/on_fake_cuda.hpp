// A test on the double of CUDA's driver (tests/device/fake_gpu.cpp), with a cache of kernels of its own.
#pragma once

#include <cstdlib>

#include "tests/support/fake_gpu.hpp"
#include "tests/support/planted_ptx.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {

// Expects of each test that everything is given back.
class OnFakeCuda : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    EXPECT_EQ(gpu.held(), 0);
  }
  void TearDown() override {
    gpu.fail(0, 0);
    gpu.lose_launch(0);
    gpu.most_memory(std::size_t{1} << 40);
    gpu.is_wrong(0);
    EXPECT_EQ(gpu.held(), 0) << "contexts, streams, events, memory and modules are given back with the Meter";
    EXPECT_EQ(gpu.capture_mode(), 0);
    EXPECT_FALSE(gpu.has_broken_a_capture());
  }

  const FakeGpu& gpu = fake(Where::kCuda);
  samples::Random random{samples::seed()};

 private:
  ScratchFolder cache_{folder_of_this_program()};
};

}  // namespace tensorstat::test
