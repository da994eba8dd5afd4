// A dump session of tensors on the double of CUDA's driver.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/dump_session.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/planted_ptx.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {

class SessionOnGpu : public SessionTest {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    plant(Dtype::kFloat32, {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm});
    options.dialect = Dialect::kOurs;  // numbers that read back
    options.ordered_by_queue = true;
    EXPECT_EQ(gpu.held(), 0);
  }
  void TearDown() override {
    EXPECT_EQ(gpu.held(), 0);
    EXPECT_FALSE(gpu.has_broken_a_capture());
  }

  static DumpTensor there(const OnGpu& memory, std::uint64_t count, std::uint32_t slot, void* stream) {
    DumpTensor tensor;
    tensor.tensor = {
        .dtype = Dtype::kFloat32, .element_count = count, .address = memory.address(), .where = Where::kCuda};
    tensor.tensor.stream = stream;
    tensor.shape = {count};
    tensor.slot = slot;
    return tensor;
  }
  // All that the rows of a step say but their time.
  std::vector<std::string> texts(const std::string& run, std::uint64_t step) const {
    std::vector<std::string> all;
    for (const Row& row : rows(run + "/rank_0/Net/0/" + std::to_string(step) + "/statistic.csv")) {
      std::string text =
          row.identity.op_name + " " + to_string(row.shape) + " " + row.identity.io + std::to_string(row.identity.slot);
      for (const Value& value : row.statistics.values) text += " " + to_string(value);
      all.push_back(text);
    }
    return all;
  }

  const std::string kStatistics = R"({"statistic_category": ["max", "min", "avg", "l2norm"]})";
  const FakeGpu& gpu = fake(Where::kCuda);
  samples::Random random{samples::seed()};

 private:
  ScratchFolder cache_{folder_of_this_program()};
};

}  // namespace tensorstat::test
