// Tensors as in a training step (bench/real_data), cut into batches that are an iteration each, are a clean run: no
// rule accuses them, whatever they are called. The same with one batch that is 1,000 times as large is a jump.
#include "bench/real_data.hpp"

#include <gtest/gtest.h>

#include <array>
#include <tensorstat/meter.hpp>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat {
namespace real_data_test {

constexpr std::size_t kRows = 1024, kColumns = 1024, kBatchColumns = 4, kBatch = kRows * kBatchColumns;
constexpr std::size_t kIterations = kColumns / kBatchColumns;

// Each step of a training sees rows of all sizes.
std::vector<float> batch_of(const std::vector<float>& values, std::size_t iteration) {
  std::vector<float> batch;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t i = 0; i < kBatchColumns; ++i) {
      batch.push_back(values[row * kColumns + iteration * kBatchColumns + i]);
    }
  }
  return batch;
}

const Categories kCategories = {Category::kMax,
                                Category::kMin,
                                Category::kAvg,
                                Category::kL2norm,
                                Category::kNanCount,
                                Category::kPositiveInfCount,
                                Category::kNegativeInfCount,
                                Category::kZeroCount};

class MeasuredRun {
 public:
  void add(Meter& meter, std::string_view type, std::string_view name, std::uint64_t iteration,
           std::span<const float> batch) {
    const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = batch.size(), .address = batch.data()};
    const auto measured = meter.measure({&tensor, 1}, {.categories = kCategories, .on = On::kHost});
    ASSERT_TRUE(measured) << measured.error().message;
    history_.add({.op_type = type,
                  .op_name = name,
                  .dtype = "float32",
                  .shape = "(4096)",
                  .place = {.iteration = iteration},
                  .timestamp_us = iteration,
                  .count = batch.size(),
                  .statistics = measured->front().statistics});
  }

  Findings judged() {
    history_.finish();
    return find_in(history_, {}, {}, {});
  }

 private:
  History history_;
};

struct Named {
  bench::Kind kind;
  const char* type;
  const char* name;
};
constexpr std::array kNamed = {
    Named{bench::Kind::kAttention, "Softmax", "attention/forward"},
    Named{bench::Kind::kSecondMoment, "OptimizerState", "second_moment"},
    Named{bench::Kind::kEmbedding, "Gradient", "embedding.weight"},
    Named{bench::Kind::kRelu, "ReLU", "relu/backward"},
    Named{bench::Kind::kLogits, "Linear", "logits/forward"},
    Named{bench::Kind::kLayerNorm, "LayerNorm", "norm/forward"},
    Named{bench::Kind::kScaled, "Linear", "scaled/backward"},
};

TEST(RealData, IsAccusedByNoRule) {
  Meter meter;
  for (const Named& each : kNamed) {
    const std::vector<float> values = bench::real_values(each.kind);
    ASSERT_EQ(values.size(), kBatch * kIterations);
    MeasuredRun run;
    for (std::size_t i = 0; i < kIterations; ++i) {
      run.add(meter, each.type, each.name, i, batch_of(values, i));
    }
    const Findings findings = run.judged();
    EXPECT_TRUE(findings.is_clean()) << each.name << ": " << findings.verdict.front();
  }
}

TEST(RealData, OneLargeBatchIsAJump) {
  Meter meter;
  for (const Named& each : kNamed) {
    const std::vector<float> values = bench::real_values(each.kind);
    MeasuredRun run;
    for (std::size_t i = 0; i < kIterations; ++i) {
      std::vector<float> batch = batch_of(values, i);
      if (i == 150) {
        for (float& value : batch) value *= 1000;
      }
      run.add(meter, each.type, each.name, i, batch);
    }
    const Findings findings = run.judged();
    ASSERT_EQ(findings.list.size(), 1u) << each.name;
    EXPECT_EQ(findings.list[0].rule, FindingRule::kJump) << each.name;
    EXPECT_EQ(findings.list[0].first_iteration, 150u) << each.name;
  }
}

}  // namespace real_data_test
}  // namespace tensorstat
