// Folds tensors of one dtype on each engine of this run, and compares the results with the oracle, bit for bit.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <span>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "precision/partial.h"
#include "stats/core/engine/needs.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

inline constexpr tensorstat::Needs kEverything = NEED_ALL;

// A random set of needs. A device takes seconds to compile a program for a set, so a dtype has only eight sets. The
// quick tests try one. The seed chooses the sets.
inline tensorstat::Needs any_needs(tensorstat::Dtype dtype, samples::Random& random) {
  const std::uint64_t which = samples::full() ? random() % 8 : 0;
  const std::uint64_t mixed = 181 * static_cast<std::uint64_t>(dtype) + samples::seed() % 3 + 40'503 * which;
  return static_cast<tensorstat::Needs>(mixed % (kEverything + 1));
}

class HeldToOracle {
 public:
  // How a tensor is passed: `offset` bytes after a multiple of 64, with these needs.
  struct Way {
    std::size_t offset = 0;
    tensorstat::Needs needs = kEverything;
  };

  explicit HeldToOracle(tensorstat::Dtype dtype) : HeldToOracle(dtype, engines_of(dtype)) {}
  HeldToOracle(tensorstat::Dtype dtype, std::span<const EngineUnderTest> engines) : dtype_(dtype), engines_(engines) {}

  // Each way is a case of its own.
  void add(const std::string& what, std::span<const std::byte> bytes, std::span<const Way> ways) {
    add(what, bytes, oracle::facts(dtype_, bytes), ways);
  }
  // `count` elements of a packed dtype.
  void add_packed(const std::string& what, std::span<const std::byte> bytes, std::uint64_t count,
                  std::span<const Way> ways) {
    add(what, bytes, oracle::facts_of_packed(dtype_, bytes, count), ways);
  }
  void add(const std::string& what, std::span<const std::byte> bytes, const oracle::Facts& facts,
           std::span<const Way> ways) {
    truths_.push_back({what, oracle::answers(facts), oracle::answers(facts, oracle::kBinary32)});
    for (const Way& way : ways) {
      cases_.push_back({&truths_.back(), way, samples::Misaligned(bytes, way.offset), facts.count});
    }
  }
  void add(const std::string& what, std::span<const std::byte> bytes, Way way) { add(what, bytes, {&way, 1}); }

  // Folds all added cases on each engine, as one batch or one by one. Then forgets them. An engine may refuse a tensor
  // only if the tensor is not aligned to its elements.
  void hold(bool each_alone = false) {
    using namespace tensorstat;
    for (const EngineUnderTest& under_test : engines_) {
      std::deque<Partial> partials;
      std::vector<const Case*> folded;
      std::vector<Job> jobs;
      for (const Case& each : cases_) {
        const Tensor tensor{.dtype = dtype_, .element_count = each.count, .address = each.bytes.data()};
        if (const std::string refusal = under_test.engine->refusal(tensor, Precision::kHigh); !refusal.empty()) {
          ASSERT_NE(0u, each.way.offset % size_bytes(dtype_)) << under_test.name << ": " << refusal;
          continue;
        }
        partials.emplace_back(dtype_, Precision::kHigh, each.way.needs);
        folded.push_back(&each);
        jobs.push_back({tensor, &partials.back()});
      }
      const std::size_t at_once = each_alone ? 1 : jobs.size();
      for (std::size_t i = 0; i < jobs.size(); i += at_once) {
        const Status status = under_test.engine->fold(std::span(jobs).subspan(i, at_once));
        ASSERT_TRUE(status) << under_test.name << ": " << status.error().message;
      }
      int wrong = 0;
      for (std::size_t i = 0; i < folded.size(); ++i) {
        wrong += differences(*folded[i], partials[i], under_test.name);
        ASSERT_LT(wrong, 8) << "and perhaps more";
      }
      case_count_ += folded.size();
    }
    cases_.clear();
    truths_.clear();
  }

  // Cases so far: one per tensor, engine and way.
  std::size_t case_count() const { return case_count_; }

 private:
  struct Truth {
    std::string what;
    std::array<tensorstat::Value, tensorstat::kCategoryCount> binary64, binary32;
  };
  struct Case {
    const Truth* truth;
    Way way;
    samples::Misaligned bytes;
    std::uint64_t count;
  };

  // The number of values in the case that are wrong.
  static int differences(const Case& each, const tensorstat::Partial& partial, const std::string& engine) {
    using namespace tensorstat;
    int wrong = 0;
    const auto hold = [&](Category category, const Value& truth, const Value& got, const char* rounded) {
      if (oracle::same(truth, got)) return;
      ++wrong;
      ADD_FAILURE() << engine << ", " << name(partial.dtype()) << ", " << each.truth->what << ", " << each.count
                    << " elements, offset " << each.way.offset << ", needs " << each.way.needs << ", seed "
                    << samples::seed() << ": " << name(category) << rounded << "\n  must be " << oracle::shown(truth)
                    << "\n  is      " << oracle::shown(got);
    };
    for (const Category category : every_category()) {
      const auto index = static_cast<std::size_t>(category);
      const bool kept = (needs(category) & ~partial.needs()) == 0;
      hold(category, kept ? each.truth->binary64[index] : Value{}, partial.finish(category), "");
      hold(category, kept ? each.truth->binary32[index] : Value{}, partial.finish_binary32(category), " as binary32");
    }
    return wrong;
  }

  tensorstat::Dtype dtype_;
  std::span<const EngineUnderTest> engines_;
  std::deque<Truth> truths_;
  std::deque<Case> cases_;
  std::size_t case_count_ = 0;
};
