// A memory budget is kept: OpenCL never has more bytes allocated, the ledger agrees with OpenCL, and the rows are the
// same.
#include <gtest/gtest.h>

#include <stdexcept>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace budget_test {

// The same as in callers_queue_test, because each set of statistics needs kernels of its own.
const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");

constexpr std::uint64_t kBudgets[] = {0,      1,       333,     1 << 10, 5000,    1 << 14,
                                      20'001, 1 << 16, 100'000, 1 << 20, 1 << 24, std::uint64_t{1} << 32};
static_assert(std::size(kBudgets) == 12);

class Budget : public testing::Test {
 protected:
  Budget() {
    setenv("TENSORSTAT_CL_AUTO", "1", 1);
    for (const Dtype dtype : samples::dtypes_on_a_device()) {
      for (const std::size_t count : {5u, 3000u, 70'000u}) {
        bytes_.push_back(samples::of(dtype)[0].make(dtype, count, random_));
        tensors_.push_back({.dtype = dtype, .element_count = count, .address = bytes_.back().data()});
      }
    }
  }

  std::vector<Statistics> measured(Meter& meter, On on) const {
    auto result = meter.measure(tensors_, {.categories = kCategories, .on = on});
    std::vector<Statistics> statistics;
    EXPECT_TRUE(result) << result.error().message;
    if (result) {
      for (const Measurement& each : *result) statistics.emplace_back(each.statistics);
    }
    return statistics;
  }

  std::vector<Statistics> refused_or_measured(Meter& meter) const {
    const auto tried = meter.measure(tensors_, {.categories = kCategories, .on = On::kDevice});
    if (tried) return measured(meter, On::kDevice);
    EXPECT_EQ(tried.error().code, Code::kOverBudget) << tried.error().message;
    return {};
  }

  // As text, so that NaN equals NaN.
  static std::vector<std::string> texts(const Statistics& statistics) {
    std::vector<std::string> all;
    for (const Value& value : statistics.values) all.push_back(to_string(value));
    return all;
  }

  // With On::kDevice a request may be refused for its budget; otherwise never.
  void hold(On on, bool takes_some = true) const {
    Meter on_host;
    const auto expected = measured(on_host, On::kHost);
    bool used = false, refused = false;
    for (const std::uint64_t budget : kBudgets) {
      cl_layer().peak_buffer_bytes = 0;
      Meter meter({.budget_bytes = budget});
      auto statistics = on == On::kDevice ? refused_or_measured(meter) : measured(meter, on);
      const MemoryUse use = meter.device_memory();
      EXPECT_LE(static_cast<std::uint64_t>(cl_layer().peak_buffer_bytes), budget);
      EXPECT_EQ(static_cast<std::uint64_t>(cl_layer().peak_buffer_bytes), use.peak_bytes) << "budget " << budget;
      EXPECT_EQ(static_cast<std::uint64_t>(cl_layer().buffer_bytes), use.current_bytes) << "budget " << budget;
      (use.peak_bytes == 0 ? refused : used) = true;
      if (on == On::kDevice && statistics.empty()) continue;
      ASSERT_EQ(expected.size(), statistics.size());
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(texts(expected[i]), texts(statistics[i])) << i;
    }
    EXPECT_EQ(used, takes_some);
    EXPECT_TRUE(refused);
    EXPECT_EQ(cl_layer().buffer_bytes, 0);
  }

  samples::Random random_{samples::seed()};
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Tensor> tensors_;
};

// The same for pairs: each tensor with another of its dtype. Other tests build the same kernels.
class PairBudget : public Budget {
 protected:
  void hold_pairs(On on, bool takes_some) {
    // Dtypes that must be unpacked are compared on the host.
    std::erase_if(tensors_, [](const Tensor& tensor) { return tensor.dtype == Dtype::kFloat8E8m0fnu; });
    std::vector<TensorPair> pairs;
    for (std::size_t i = 1; i < tensors_.size(); i += 2) {
      Tensor beside = tensors_[i];
      bytes_.push_back(samples::of(beside.dtype)[0].make(beside.dtype, beside.element_count, random_));
      beside.address = bytes_.back().data();
      pairs.push_back({tensors_[i], beside});
    }
    const auto expected = Meter().compare(pairs, {.on = On::kHost});
    ASSERT_TRUE(expected);
    bool used = false, refused = false;
    for (const std::uint64_t budget : kBudgets) {
      cl_layer().peak_buffer_bytes = 0;
      {
        Meter meter({.budget_bytes = budget});
        std::vector<PairPlacement> placements;
        const auto result = meter.compare(pairs, {.on = on}, &placements);
        const MemoryUse use = meter.device_memory();
        EXPECT_LE(static_cast<std::uint64_t>(cl_layer().peak_buffer_bytes), budget);
        EXPECT_EQ(static_cast<std::uint64_t>(cl_layer().peak_buffer_bytes), use.peak_bytes) << "budget " << budget;
        EXPECT_EQ(static_cast<std::uint64_t>(cl_layer().buffer_bytes), use.current_bytes) << "budget " << budget;
        if (result) {
          for (std::size_t i = 0; i < pairs.size(); ++i)
            EXPECT_EQ((*result)[i].serialize(), (*expected)[i].serialize()) << i;
          for (const PairPlacement& placed : placements) EXPECT_LE(placed.device_bytes, use.peak_bytes);
          (placements.front().engine == "host" ? refused : used) = true;
        } else {
          EXPECT_EQ(on, On::kDevice);
          EXPECT_EQ(result.error().code, Code::kOverBudget) << result.error().message;
          refused = true;
        }
      }
      EXPECT_EQ(cl_layer().buffer_bytes, 0);
    }
    EXPECT_TRUE(used);
    EXPECT_EQ(refused, takes_some);
  }
};

TEST_F(PairBudget, HoldsWhereHostMemoryIsShared) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  hold_pairs(On::kAuto, true);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
  unsetenv("TENSORSTAT_CL_POINTERS");
}

TEST_F(PairBudget, IsNotTouchedWherePointersAreFollowed) {
  cl_layer().svm_capabilities = 0;
  hold_pairs(On::kDevice, false);
  cl_layer().svm_capabilities = -1;
}

TEST_F(PairBudget, HoldsWhereHostMemoryIsUploaded) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
  hold_pairs(On::kDevice, true);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

TEST_F(Budget, HoldsWhereHostMemoryIsShared) {
  setenv("TENSORSTAT_CL_POINTERS", "0", 1);
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  hold(On::kAuto);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
  unsetenv("TENSORSTAT_CL_POINTERS");
}

// In the host's own address space a device takes no memory, so no budget refuses it. A device of the system's shared
// virtual memory (pocl from version 6 on is one, too) has its workspace in buffers.
TEST_F(Budget, IsNotTouchedWherePointersAreFollowed) {
  cl_layer().svm_capabilities = 0;
  hold(On::kDevice, false);
  cl_layer().svm_capabilities = -1;
}

TEST_F(Budget, HoldsWhereHostMemoryIsUploaded) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
  hold(On::kDevice);
  unsetenv("TENSORSTAT_CL_ZERO_COPY");
}

}  // namespace budget_test
}  // namespace tensorstat
