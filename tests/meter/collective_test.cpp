// The partials of any number of ranks, reduced by MAX and SUM, are the bytes of the whole tensor's partial, on every
// rank: for every dtype and statistic that merges, any cut, and ranks without elements. An error on one rank is one on
// all.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tensorstat/collective.hpp>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace collective_test {

using Bytes = std::vector<std::byte>;
using Partials = std::vector<Partial>;

template <typename Pick, typename Operation>
void reduce(std::vector<Collective>& ranks, const Pick& pick, const Operation& operation) {
  std::vector<std::span<std::int64_t>> arrays;
  for (Collective& rank : ranks) arrays.push_back(pick(rank));
  for (const auto& array : arrays) ASSERT_EQ(array.size(), arrays.front().size());
  for (std::size_t i = 0; i < arrays.front().size(); ++i) {
    std::int64_t all = arrays.front()[i];
    for (std::size_t rank = 1; rank < arrays.size(); ++rank) all = operation(all, arrays[rank][i]);
    for (const auto& array : arrays) array[i] = all;
  }
}
const auto kMax = [](std::int64_t a, std::int64_t b) { return std::max(a, b); };
const auto kSum = [](std::int64_t a, std::int64_t b) { return a + b; };

// What each rank gets.
std::vector<Result<Partials>> merged(std::vector<Collective>& ranks) {
  std::vector<Result<Partials>> results;
  reduce(
      ranks, [](Collective& rank) { return rank.agreement(); }, kMax);
  std::size_t agreed = 0;
  for (const Collective& rank : ranks) agreed += static_cast<bool>(rank.agree());
  if (agreed == ranks.size()) {
    reduce(
        ranks, [](Collective& rank) { return rank.largest(); }, kMax);
    reduce(
        ranks, [](Collective& rank) { return rank.sums(); }, kSum);
    reduce(
        ranks, [](Collective& rank) { return rank.indices(); }, kMax);
    std::vector<Bytes> gathered;
    for (const Collective& rank : ranks) gathered.push_back(rank.to_gather());
    for (Collective& rank : ranks) {
      EXPECT_EQ(rank.gathers(), ranks.front().gathers());
      for (const Bytes& each : gathered) EXPECT_TRUE(!rank.gathers() || rank.add_gathered(each));
    }
    for (Collective& rank : ranks) results.push_back(std::move(rank).finish());
  } else {
    EXPECT_EQ(agreed, 0u);
    for (const Collective& rank : ranks) results.push_back(rank.agree().error());
  }
  return results;
}

constexpr const char* kLists[] = {"max,min,avg,l2norm,nan count",
                                  "all,crc32,xor64,argmax,argmin,first nan index,absmin",
                                  "exponents,std",
                                  "p50,p99.9,max",
                                  "xor64",
                                  "argmin,e4m3fn overflow,l1norm,finite max"};

class Collectives : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Dtype, Collectives, testing::ValuesIn(samples::whole_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Collectives, GiveTheBytesOfTheWhole) {
  const Dtype dtype = GetParam();
  const std::size_t element = size_bytes(dtype);
  samples::Random random{samples::seed() + static_cast<std::uint64_t>(dtype)};
  Meter meter({.threads = 1});
  for (const char* list : kLists) {
    Request request{.categories = *categories_from(list), .on = On::kHost};
    std::erase_if(request.categories, [](Category each) { return is_digest(each); });
    std::erase_if(request.categories, [&](Category each) { return !has(dtype, each); });
    if (request.categories.empty()) continue;
    for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
      request.precision = precision;
      for (const std::size_t ranks : {1, 2, 3, 5, 7}) {
        constexpr std::size_t kTensors = 3;
        std::vector<Bytes> tensors;
        for (std::size_t i = 0; i < kTensors; ++i) {
          tensors.push_back(samples::one_of(dtype, random() % 50, i == 0 ? 0 : random() % 9000, random));
        }
        std::vector<Partials> parts(ranks);
        std::vector<Bytes> expected;
        for (const Bytes& bytes : tensors) {
          const std::size_t count = bytes.size() / element;
          const Tensor all{.dtype = dtype, .element_count = count, .address = bytes.data()};
          expected.push_back(meter.fold({&all, 1}, request)->front().serialize());
          std::vector<std::size_t> cuts = {0, count};
          while (cuts.size() <= ranks) cuts.push_back(random() % (count + 1) / 1024 * 1024);
          std::ranges::sort(cuts);
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            const Tensor part{.dtype = dtype,
                              .element_count = cuts[rank + 1] - cuts[rank],
                              .address = bytes.data() + cuts[rank] * element};
            auto folded = meter.fold({&part, 1}, request);
            ASSERT_TRUE(folded) << folded.error().message;
            ASSERT_TRUE(folded->front().move_to(cuts[rank]));
            parts[rank].push_back(std::move(folded->front()));
          }
        }
        std::vector<Collective> all;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          auto made = Collective::of(parts[rank], static_cast<std::uint32_t>(rank));
          ASSERT_TRUE(made) << made.error().message;
          all.push_back(*std::move(made));
        }
        for (const auto& result : merged(all)) {
          ASSERT_TRUE(result) << result.error().message;
          for (std::size_t i = 0; i < kTensors; ++i) {
            ASSERT_EQ((*result)[i].serialize(), expected[i]) << list << ", " << ranks << " ranks, " << name(precision)
                                                             << ", tensor " << i << ", seed " << samples::seed();
          }
        }
      }
    }
  }
}

Partial some_partial(Dtype dtype, const char* list, double scale = 1, Precision precision = Precision::kHigh) {
  return Partial(dtype, precision, needs(*categories_from(list), precision), scale);
}

void expect_error_on_all(std::vector<Collective> ranks, const std::vector<std::string>& words) {
  const auto results = merged(ranks);
  ASSERT_EQ(results.size(), words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_FALSE(results[i]);
    EXPECT_NE(results[i].error().message.find(words[i]), std::string::npos) << results[i].error().message;
  }
}

TEST(CollectiveErrors, AreErrorsOnEveryRank) {
  const Partials usual = {some_partial(Dtype::kFloat32, "max,avg")};
  const auto of = [](const Partials& partials, std::uint32_t rank, const char* label = "") {
    return *Collective::of(partials, rank, label);
  };
  const std::string differ = "do not merge the same list";
  for (const Partials& other :
       {Partials{}, Partials{usual[0], usual[0]}, Partials{some_partial(Dtype::kFloat16, "max,avg")},
        Partials{some_partial(Dtype::kFloat32, "max,argmax")},
        Partials{some_partial(Dtype::kFloat32, "max,avg", 1, Precision::kLow)}}) {
    expect_error_on_all({of(usual, 0), of(usual, 1), of(other, 2)}, {differ, differ, differ});
  }
  expect_error_on_all({of({some_partial(Dtype::kFloat32, "e5m2 overflow", 2)}, 0),
                       of({some_partial(Dtype::kFloat32, "e5m2 overflow", 4)}, 1)},
                      {differ, differ});
  expect_error_on_all({of(usual, 0, "a"), of(usual, 1, "b")}, {differ, differ});
  expect_error_on_all({of(usual, 0), Collective::failed(1, {Code::kDevice, "the device burns"}), of(usual, 2)},
                      {"rank 1 failed", "the device burns", "rank 1 failed"});
}

TEST(CollectiveErrors, TooManyElements) {
  std::vector<Collective> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Partial partial = some_partial(Dtype::kFloat32, "nan count");
    partial.words()[2] = std::int64_t{1} << 62;  // PARTIAL_COUNT
    ASSERT_EQ(partial.count(), std::uint64_t{1} << 62);
    ranks.push_back(*Collective::of({&partial, 1}, rank));
  }
  expect_error_on_all(std::move(ranks), {"2^63 elements", "2^63 elements", "2^63 elements"});
}

TEST(CollectiveErrors, HostileBytes) {
  const Partials partials = {some_partial(Dtype::kFloat32, "p50")};
  Collective collective = *Collective::of(partials, 0);
  const Bytes right = collective.to_gather();
  for (std::size_t length = 0; length < right.size(); ++length) {
    EXPECT_FALSE(collective.add_gathered(std::span(right).first(length)));
  }
  Bytes longer = right;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(collective.add_gathered(longer));
  longer = right;
  longer[7] = std::byte{0xff};
  EXPECT_FALSE(collective.add_gathered(longer));
}

}  // namespace collective_test
}  // namespace tensorstat
