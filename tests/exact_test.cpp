// Every category of every tensor is the exact value, rounded once: bit for bit what rational
// arithmetic says, on every engine, for every dtype, awkward size, misalignment and distribution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <string>
#include <tensorstat/partial.hpp>

#include "tests/engines.hpp"
#include "tests/oracle.hpp"
#include "tests/samples.hpp"

namespace tensorstat {
namespace {

using samples::Random;

constexpr Needs kEverything = kExtrema | kSigns | kSum | kSquares;

struct Tried {
  std::string what;
  std::array<Value, kCategoryCount> binary64, binary32;
};

// A tensor in memory, folded by an engine and held against what is true of it.
class Case {
 public:
  Case(const Tried& tried, Dtype dtype, std::span<const std::byte> bytes, std::size_t offset, Needs needs)
      : tried_(&tried), bytes_(bytes, offset), offset_(offset), partial_(dtype, Precision::kHigh, needs) {
    job_ = {{.dtype = dtype, .element_count = bytes.size() / size_bytes(dtype), .address = bytes_.data()}, &partial_};
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  const Job& job() const { return job_; }
  void reset() { partial_ = Partial(partial_.dtype(), Precision::kHigh, partial_.needs()); }

  // How many of the case's values are not what they must be.
  int differences(const std::string& engine) const {
    int wrong = 0;
    const auto hold = [&](Category category, const Value& expected, const Value& got, const char* rounded) {
      if (oracle::same(expected, got)) return;
      ++wrong;
      ADD_FAILURE() << engine << ", " << tried_->what << ", offset " << offset_ << ", needs " << int{partial_.needs()}
                    << ", seed " << samples::seed() << ": " << name(category) << rounded << "\n  must be "
                    << oracle::shown(expected) << "\n  is      " << oracle::shown(got);
    };
    for (const Category category : all_categories()) {
      const auto index = static_cast<std::size_t>(category);
      const bool kept = (needs(category) & ~partial_.needs()) == 0;
      hold(category, kept ? tried_->binary64[index] : Value{}, partial_.finish(category), "");
      hold(category, kept ? tried_->binary32[index] : Value{}, partial_.finish_binary32(category), " as binary32");
    }
    return wrong;
  }

 private:
  const Tried* tried_;
  samples::Misaligned bytes_;
  std::size_t offset_;
  Partial partial_;
  Job job_;
};

class Exact : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  void add(std::string_view distribution, std::span<const std::byte> bytes, std::span<const std::size_t> offsets) {
    const oracle::Facts facts = oracle::facts(GetParam(), bytes);
    tried_.push_back({std::string(name(GetParam())) + ", " + std::string(distribution) + ", " +
                          std::to_string(facts.count) + " elements",
                      oracle::answers(facts), oracle::answers(facts, oracle::kBinary32)});
    for (const std::size_t offset : offsets) cases_.emplace_back(tried_.back(), GetParam(), bytes, offset, kEverything);
    cases_.emplace_back(tried_.back(), GetParam(), bytes, random_() % 16, static_cast<Needs>(random_() % 16));
  }

  // Folds all that was added, one batch or each alone, on every engine; forgets it.
  void hold(bool each_alone) {
    for (const EngineUnderTest& under_test : every_engine()) {
      ASSERT_NE(nullptr, under_test.engine) << under_test.name;
      std::vector<Job> jobs;
      for (Case& each : cases_) {
        each.reset();
        jobs.push_back(each.job());
      }
      for (std::size_t i = 0; i < jobs.size(); i += each_alone ? 1 : jobs.size()) {
        const Status status = under_test.engine->fold(std::span(jobs).subspan(i, each_alone ? 1 : jobs.size()));
        ASSERT_TRUE(status) << under_test.name << ": " << status.error().message;
      }
      int wrong = 0;
      for (const Case& each : cases_) {
        wrong += each.differences(under_test.name);
        ASSERT_LT(wrong, 8) << "and more";
      }
      count_ += cases_.size();
    }
    cases_.clear();
    tried_.clear();
  }

  void TearDown() override {
    std::printf("%zu cases of %s\n", count_, std::string(name(GetParam())).c_str());
  }

  Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
  std::deque<Tried> tried_;
  std::deque<Case> cases_;
  std::size_t count_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Dtype, Exact, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// In full, a million cases and more.
TEST_P(Exact, AtEveryAwkwardSizeAndOffset) {
  std::vector<std::size_t> all_offsets;
  for (std::size_t offset = 0; offset < 16; ++offset) all_offsets.push_back(offset);
  for (int round = 0; round < (samples::full() ? 16 : 1); ++round) {
    for (const samples::Distribution& distribution : samples::of(GetParam())) {
      for (const std::size_t count : samples::awkward_counts()) {
        const std::size_t one = random_() % 16;
        add(distribution.name, distribution.make(GetParam(), count, random_),
            count < 4000 ? std::span<const std::size_t>(all_offsets) : std::span(&one, 1));
      }
      hold(random_() % 4 == 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Exact, OverManyPiecesOfWork) {
  const auto distributions = samples::of(GetParam());
  for (std::size_t i = 0; i < distributions.size(); i += samples::full() ? 1 : 3) {
    const std::size_t offset = random_() % 16;
    add(distributions[i].name, distributions[i].make(GetParam(), 1'000'003, random_), {&offset, 1});
    hold(false);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tensorstat
