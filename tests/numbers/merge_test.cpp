// A tensor cut anywhere, in any order, on any number of threads, merged as any tree: the same
// bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/core/engine/needs.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/held_to_oracle.hpp"
#include "tests/support/record_of.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace merge_test {

using Bytes = std::vector<std::byte>;
using View = std::span<const std::byte>;

class Merge : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  std::uint64_t any(std::uint64_t below) { return random_() % below; }

  Bytes any_tensor(std::size_t most) {
    const auto distributions = samples::of(GetParam());
    return distributions[any(distributions.size())].make(GetParam(), any(most), random_);
  }

  // A place between two elements.
  std::size_t any_cut(View bytes) { return any(bytes.size() / element_ + 1) * element_; }

  Engine& any_engine() {
    const auto engines = engines_of(GetParam());
    return *engines[any(engines.size())].engine;
  }

  Partial folded(Engine& engine, View bytes, Needs needs = kEverything) {
    Partial partial(GetParam(), Precision::kHigh, needs);
    const Job job{{.dtype = GetParam(), .element_count = bytes.size() / element_, .address = bytes.data()}, &partial};
    const Status status = engine.fold({&job, 1});
    EXPECT_TRUE(status) << status.error().message;
    return partial;
  }

  const std::size_t element_ = size_bytes(GetParam());
  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Merge, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Merge, InAnyTreeOfAnyCuts) {
  for (int round = 0; round < (samples::full() ? 1000 : 40); ++round) {
    const Bytes tensor = any_tensor(20'000);
    const Needs needs = any(2) != 0 ? kEverything : any_needs(GetParam(), random_);
    const Bytes whole = folded(any_engine(), tensor, needs).serialize();
    std::vector<std::size_t> cuts = {0, tensor.size()};
    for (std::uint64_t pieces = any(12); pieces != 0; --pieces) cuts.push_back(any_cut(tensor));
    std::ranges::sort(cuts);
    std::vector<Partial> forest;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      forest.push_back(folded(any_engine(), View(tensor).subspan(cuts[i], cuts[i + 1] - cuts[i]), needs));
      ASSERT_TRUE(forest.back().move_to(cuts[i] / element_));
    }
    while (forest.size() > 1) {
      std::ranges::shuffle(forest, random_);
      // Some travel: to another process, another rank.
      auto arrived = Partial::parse(forest.back().serialize());
      ASSERT_TRUE(arrived) << arrived.error().message;
      forest.pop_back();
      ASSERT_TRUE(forest.back().merge(*arrived));
    }
    ASSERT_EQ(whole, forest.front().serialize())
        << "seed " << samples::seed() << ", round " << round << ", needs " << needs;
  }
}

TEST_P(Merge, OfAnyOrderOfTheElements) {
  for (int round = 0; round < (samples::full() ? 300 : 5); ++round) {
    const Bytes tensor = any_tensor(20'000);
    const std::size_t count = tensor.size() / element_;
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::ranges::shuffle(order, random_);
    Bytes shuffled(tensor.size());
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&shuffled[i * element_], &tensor[order[i] * element_], element_);
    }
    const Needs needs = kEverything & ~kIndices & ~kFingerprints;  // which have an order
    ASSERT_EQ(folded(any_engine(), tensor, needs).serialize(), folded(any_engine(), shuffled, needs).serialize())
        << "seed " << samples::seed() << ", round " << round;
  }
}

TEST_P(Merge, OverAnyNumberOfThreads) {
  for (int round = 0; round < (samples::full() ? 20 : 1); ++round) {
    const auto distributions = samples::of(GetParam());
    const Bytes tensor = distributions[any(distributions.size())].make(GetParam(), 1'500'000 + any(999), random_);
    const Bytes alone = folded(*make_host_engine({.threads = 1}), tensor).serialize();
    for (const unsigned threads : {2u, 3u, 7u}) {
      const auto engine = make_host_engine({.threads = threads});
      ASSERT_EQ(alone, folded(*engine, tensor).serialize()) << threads << " threads, seed " << samples::seed();
    }
    for (const EngineUnderTest& under_test : engines_of(GetParam())) {
      ASSERT_EQ(alone, folded(*under_test.engine, tensor).serialize()) << under_test.name;
    }
  }
}

// Pieces of no element, of one, of many; every category, the digest among them.
TEST_P(Merge, OfAStreamInOddPieces) {
  Meter meter;
  const Request request{.categories = every_category(), .on = On::kHost};
  for (int round = 0; round < (samples::full() ? 200 : 4); ++round) {
    const Bytes tensor = any_tensor(200'000);
    const Tensor whole{.dtype = GetParam(), .element_count = tensor.size() / element_, .address = tensor.data()};
    const auto measured = meter.measure({&whole, 1}, request);
    ASSERT_TRUE(measured) << measured.error().message;
    auto stream = meter.stream(GetParam(), request);
    ASSERT_TRUE(stream) << stream.error().message;
    for (View rest = tensor; !rest.empty();) {
      const std::size_t most = std::min(rest.size() / element_, std::size_t{1} << any(18));
      // A piece of its own, so that reading on afterwards would be seen.
      const Bytes piece(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(any(most + 1) * element_));
      const Status status = stream->append(piece);
      ASSERT_TRUE(status) << status.error().message;
      rest = rest.subspan(piece.size());
    }
    const auto streamed = stream->finish();
    ASSERT_TRUE(streamed) << streamed.error().message;
    for (const Category category : request.categories) {
      const Value &one = *(*measured)[0].statistics.find(category),
                  &other = *streamed->front().statistics.find(category);
      ASSERT_TRUE(oracle::same(one, other))
          << name(category) << ": " << oracle::shown(one) << " whole, " << oracle::shown(other) << " streamed, seed "
          << samples::seed() << ", round " << round;
    }
  }
}

TEST_P(Merge, OfWhatWasParsedGivesTheSameValues) {
  const Partial partial = folded(any_engine(), any_tensor(5000));
  const auto parsed = Partial::parse(partial.serialize());
  ASSERT_TRUE(parsed) << parsed.error().message;
  for (const Category category : all_categories()) {
    EXPECT_TRUE(oracle::same(partial.finish(category), parsed->finish(category))) << name(category);
    EXPECT_TRUE(oracle::same(partial.finish_binary32(category), parsed->finish_binary32(category))) << name(category);
  }
}

// Whatever bytes come, they are refused, or they are the canonical form of what was understood.
TEST_P(Merge, OfCorruptedBytesIsRefused) {
  const Bytes good = folded(any_engine(), any_tensor(5000)).serialize();
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(Partial::parse(View(good).first(size))) << "cut to " << size << " bytes";
  }
  Bytes longer = good;
  longer.resize(good.size() + 8);
  EXPECT_FALSE(Partial::parse(longer));
  const std::size_t header = 16;
  for (std::size_t offset = 0; offset < header; ++offset) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[offset] ^= static_cast<std::byte>(1 << bit);
      const auto parsed = Partial::parse(bad);
      // Another dtype of the same family, or precision, is a partial that could be.
      if (offset >= 8 && offset <= 9 && parsed) {
        EXPECT_EQ(bad, parsed->serialize());
      } else {
        EXPECT_FALSE(parsed) << "byte " << offset << ", bit " << bit;
      }
    }
  }
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bad = good;
    for (std::uint64_t flips = 1 + any(3); flips != 0; --flips) {
      bad[any(bad.size())] ^= static_cast<std::byte>(1 + any(255));
    }
    const auto parsed = Partial::parse(bad);
    refused += !parsed;
    if (!parsed) continue;
    ASSERT_EQ(bad, parsed->serialize());
    for (const Category category : all_categories()) {
      (void)parsed->finish(category);  // whatever it is, it is a value
    }
  }
  EXPECT_GT(refused, 300) << "a flipped bit is refused where a field has no room for it";
}

TEST(MergeOf, UnlikePartialsIsRefusedAndChangesNothing) {
  Partial one(Dtype::kFloat32, Precision::kHigh, kEverything);
  const Bytes before = one.serialize();
  for (const Partial& other :
       {Partial(Dtype::kFloat16, Precision::kHigh, kEverything), Partial(Dtype::kFloat32, Precision::kLow, kEverything),
        Partial(Dtype::kFloat32, Precision::kHigh, kSum)}) {
    const Status status = one.merge(other);
    ASSERT_FALSE(status);
    EXPECT_EQ(Code::kInvalid, status.error().code);
    EXPECT_NE(std::string::npos, status.error().message.find(name(other.dtype()))) << status.error().message;
    EXPECT_EQ(before, one.serialize());
  }
}

// The numbers in a partial must be consistent.
TEST(MergeOf, ImpossiblePartialsIsRefused) {
  const std::vector<float> data = {1, -2, 3, 0, 5};
  Partial good(Dtype::kFloat32, Precision::kHigh, kEverything);
  const Job job{{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()}, &good};
  ASSERT_TRUE(make_host_engine({.threads = 1})->fold({&job, 1}));
  const Bytes bytes = good.serialize();
  const auto with = [&](std::string_view name, std::int64_t value, std::size_t word = 0) {
    Bytes changed = bytes;
    std::memcpy(&changed[payload_of(bytes, name) + 8 * word], &value, 8);
    return changed;
  };
  ASSERT_TRUE(Partial::parse(bytes));
  EXPECT_FALSE(Partial::parse(with("COUNT", 1))) << "fewer elements than zeros and negatives";
  EXPECT_FALSE(Partial::parse(with("NANS", 4)));
  EXPECT_FALSE(Partial::parse(with("NANS", -1)));
  EXPECT_FALSE(Partial::parse(with("NEGATIVE_INFS", 2))) << "more of them than of elements below zero";
  EXPECT_FALSE(Partial::parse(with("HIGHEST", -2'000'000'000))) << "the most below the least";
  EXPECT_FALSE(Partial::parse(with("SUM", std::int64_t{1} << 32))) << "a carry is due";
  EXPECT_FALSE(Partial::parse(with("SQUARES", -1, SQUARE_WORDS_Float - 1))) << "squares below zero";
}

}  // namespace merge_test
}  // namespace tensorstat
