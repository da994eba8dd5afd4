// The partials of any number of ranks, reduced by MAX and SUM, are the bytes of the whole tensor's partial, on every
// rank: for every dtype and statistic that merges, any cut, and ranks without elements. An error on one rank is one on
// all.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <tensorstat/collective.hpp>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/samples.hpp"

namespace tensorstat {
namespace collective_test {

using Bytes = std::vector<std::byte>;
using Partials = std::vector<Partial>;

using Operation = Collective::Round::Operation;

std::size_t rounds_of_last_step = 0;

// Reduces by hand what begun ranks give, and expects the same rounds of each. What each rank gets.
std::vector<Result<Partials>> reduced(std::vector<Collective>& ranks) {
  for (rounds_of_last_step = 0;; ++rounds_of_last_step) {
    std::vector<Collective::Round> rounds;
    for (Collective& rank : ranks) {
      if (const auto round = rank.next()) rounds.push_back(*round);
    }
    if (rounds.empty()) break;
    if (rounds.size() != ranks.size()) {
      ADD_FAILURE() << "ranks wait";
      break;
    }
    const Collective::Round& first = rounds.front();
    for (const Collective::Round& round : rounds) {
      EXPECT_EQ(round.words.size(), first.words.size());
      EXPECT_EQ(round.operation, first.operation);
      EXPECT_EQ(round.is_for_all, first.is_for_all);
      EXPECT_FALSE(round.words.empty());
    }
    if (testing::Test::HasFailure()) break;
    for (std::size_t i = 0; i < first.words.size(); ++i) {
      std::int64_t all = first.words[i];
      for (std::size_t rank = 1; rank < rounds.size(); ++rank) {
        const std::int64_t word = rounds[rank].words[i];
        all = first.operation == Operation::kMax ? std::max(all, word) : all + word;
      }
      for (const Collective::Round& round : rounds) round.words[i] = all;
    }
  }
  std::vector<Result<Partials>> results;
  for (Collective& rank : ranks) results.push_back(rank.finish());
  return results;
}

std::vector<Collective> collectives(std::size_t ranks) {
  std::vector<Collective> all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) all.emplace_back(rank, static_cast<std::uint32_t>(ranks));
  return all;
}

constexpr const char* kEvery = "every statistic";
Categories categories_of(const char* list) { return list == kEvery ? every_category() : *categories_from(list); }

constexpr const char* kLists[] = {kEvery,
                                  "max,min,avg,l2norm,nan count",
                                  "all,crc32,xor64,argmax,argmin,first nan index,absmin",
                                  "exponents,std",
                                  "p50,p99.9,max",
                                  "xor64",
                                  "argmin,e4m3fn overflow,l1norm,finite max"};

std::vector<Dtype> every_dtype() {
  std::vector<Dtype> dtypes = samples::whole_dtypes();
  std::ranges::copy(samples::packed_dtypes(), std::back_inserter(dtypes));
  return dtypes;
}

class Collectives : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Dtype, Collectives, testing::ValuesIn(every_dtype()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Collectives, GiveTheBytesOfTheWhole) {
  const Dtype dtype = GetParam();
  samples::Random random{samples::seed() + static_cast<std::uint64_t>(dtype)};
  Meter meter({.threads = 1});
  for (const char* list : kLists) {
    Request request{.categories = categories_of(list), .on = On::kHost};
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
          const std::size_t count = bytes.size() / size_bytes(dtype) * elements_a_byte(dtype);
          const Tensor all{.dtype = dtype, .element_count = count, .address = bytes.data()};
          expected.push_back(meter.fold({&all, 1}, request)->front().serialize());
          std::vector<std::size_t> cuts = {0, count};
          while (cuts.size() <= ranks) cuts.push_back(random() % (count + 1) / 1024 * 1024);
          std::ranges::sort(cuts);
          for (std::size_t rank = 0; rank < ranks; ++rank) {
            const Tensor part{.dtype = dtype,
                              .element_count = cuts[rank + 1] - cuts[rank],
                              .address = bytes.data() + bytes_of(dtype, cuts[rank])};
            auto folded = meter.fold({&part, 1}, request);
            ASSERT_TRUE(folded) << folded.error().message;
            ASSERT_TRUE(folded->front().move_to(cuts[rank]));
            parts[rank].push_back(std::move(folded->front()));
          }
        }
        auto all = collectives(ranks);
        const bool has_index = std::ranges::any_of(parts[0], [](const Partial& each) {
          return each.keeps(Category::kArgmax) || each.keeps(Category::kFirstNanIndex);
        });
        for (int step = 0; step < 2; ++step) {
          for (std::size_t rank = 0; rank < ranks; ++rank) all[rank].begin(parts[rank]);
          const auto results = reduced(all);
          ASSERT_EQ(rounds_of_last_step, 2u + (precision == Precision::kHigh && has_index) + (step == 0)) << list;
          for (const auto& result : results) {
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
}

Partial some_partial(Dtype dtype, const char* list, double scale = 1, Precision precision = Precision::kHigh) {
  return Partial(dtype, precision, needs(*categories_from(list), precision), scale);
}

using Begin = std::function<void(Collective&)>;

Begin of(const Partials& partials, const char* label = "") {
  return [=](Collective& rank) { rank.begin(partials, label); };
}
Begin failing(const char* words) {
  return [=](Collective& rank) { rank.begin(Error{Code::kDevice, words}); };
}

// Begins each rank, and expects these words in each one's error, after two rounds.
void expect_errors(std::vector<Collective>& ranks, const std::vector<Begin>& begins,
                   const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < ranks.size(); ++i) begins[i](ranks[i]);
  const auto results = reduced(ranks);
  EXPECT_EQ(rounds_of_last_step, 2u);
  for (std::size_t i = 0; i < words.size(); ++i) {
    ASSERT_FALSE(results[i]);
    EXPECT_NE(results[i].error().message.find(words[i]), std::string::npos) << results[i].error().message;
  }
}

// On ranks that never merged before, and on ranks that agreed on a list: a good step comes before and after each error.
TEST(CollectiveErrors, AreErrorsOnEveryRank) {
  const Partials usual = {some_partial(Dtype::kFloat32, "max,avg")};
  const std::string differ = "do not merge the same list of partials: rank ";
  struct Case {
    std::vector<Begin> begins;
    std::vector<std::string> words;
  };
  std::vector<Case> cases;
  for (const Partials& other :
       {Partials{}, Partials{usual[0], usual[0]}, Partials{some_partial(Dtype::kFloat16, "max,avg")},
        Partials{some_partial(Dtype::kFloat32, "max,argmax")}, Partials{some_partial(Dtype::kFloat32, "max,avg,p50")},
        Partials{some_partial(Dtype::kFloat32, "max,avg", 1, Precision::kLow)}}) {
    cases.push_back({{of(usual), of(usual), of(other)}, {differ, differ, differ}});
    cases.push_back({{of(other), of(usual), of(usual)}, {differ, differ, differ}});
  }
  cases.push_back({{of({some_partial(Dtype::kFloat32, "e5m2 overflow", 2)}),
                    of({some_partial(Dtype::kFloat32, "e5m2 overflow", 4)}),
                    of({some_partial(Dtype::kFloat32, "e5m2 overflow", 3)})},
                   {differ, differ, differ}});
  cases.push_back({{of(usual, "a"), of(usual, "b"), of(usual, "a")}, {differ, differ, differ}});
  const std::string told = "rank 1 failed, so no rank has a result: the device burns";
  cases.push_back({{of(usual), failing("the device burns"), of(usual)}, {told, "the device burns", told}});
  cases.push_back({{failing("early"), failing("the device burns"), of({})}, {"early", "the device burns", told}});
  const std::string at_length(1000, 'x');
  cases.push_back({{failing(at_length.c_str()), of(usual), of(usual)}, {at_length, at_length.substr(0, 200) + "..."}});
  for (const Case& each : cases) {
    auto fresh = collectives(3);
    expect_errors(fresh, each.begins, each.words);
    auto used = collectives(3);
    for (int step = 0; step < 3; ++step) {
      for (Collective& rank : used) rank.begin(usual);
      for (const auto& result : reduced(used)) EXPECT_TRUE(result);
      EXPECT_EQ(rounds_of_last_step, step == 0 ? 3u : 2u);
      expect_errors(used, each.begins, each.words);
    }
  }
}

TEST(CollectiveErrors, TooManyElements) {
  Partial partial = some_partial(Dtype::kFloat32, "nan count");
  partial.words()[2] = std::int64_t{1} << 62;  // PARTIAL_COUNT
  ASSERT_EQ(partial.count(), std::uint64_t{1} << 62);
  auto ranks = collectives(3);
  const std::string words = "2^63 elements";
  expect_errors(ranks, {of({partial}), of({partial}), of({partial})}, {words, words, words});
}

TEST(CollectiveErrors, RanksWithoutANumberOfTheirOwn) {
  const Partials partials = {some_partial(Dtype::kFloat32, "p50")};
  std::vector<Collective> ranks = {{0, 3}, {2, 3}, {2, 3}};
  for (Collective& rank : ranks) rank.begin(partials);
  for (const auto& result : reduced(ranks)) {
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("rank 1 sent no quantiles"), std::string::npos) << result.error().message;
  }
  ranks = {{0, 2}, {2, 2}};
  for (Collective& rank : ranks) rank.begin(partials);
  for (const auto& result : reduced(ranks)) ASSERT_FALSE(result);
}

TEST(CollectiveErrors, FinishComesLast) {
  Collective rank(0, 1);
  rank.begin(Partials{some_partial(Dtype::kFloat32, "max")});
  EXPECT_FALSE(rank.finish());
  ASSERT_TRUE(rank.next());
  EXPECT_FALSE(rank.finish());
}

// 10^6 ranks: checksums have room for the sum, and the sums of float64 for 2^31.
TEST(CollectivesOfManyRanks, KeepChecksums) {
  Partial partial = some_partial(Dtype::kFloat64, "crc32,xor64,avg");
  for (const std::uint32_t ranks : {1u, 2u, 3u, 1'000'001u, 0x7fffffffu}) {
    Collective one(0, ranks);
    const std::vector<double> values = {1.25, -3e300, 7};
    const Tensor tensor{.dtype = Dtype::kFloat64, .element_count = values.size(), .address = values.data()};
    Meter meter({.threads = 1});
    const auto folded = meter.fold({&tensor, 1}, {.categories = *categories_from("crc32,xor64,avg"), .on = On::kHost});
    ASSERT_TRUE(folded);
    one.begin(*folded);
    // As though all ranks had the same: an odd number of equal checksums is one, an even number none.
    while (const auto round = one.next()) {
      if (round->operation == Operation::kSum) {
        for (std::int64_t& word : round->words) {
          ASSERT_FALSE(__builtin_mul_overflow(word, std::int64_t{ranks}, &word));
        }
      }
    }
    const auto whole = one.finish();
    ASSERT_TRUE(whole);
    const auto value = [](const Partial& part, Category category) { return to_string(part.finish(category)); };
    EXPECT_EQ(whole->front().count(), 3ull * ranks);
    EXPECT_EQ(value(whole->front(), Category::kXor64),
              value(ranks % 2 == 1 ? folded->front() : partial, Category::kXor64));
    EXPECT_EQ(value(whole->front(), Category::kAvg), value(folded->front(), Category::kAvg));
  }
}

}  // namespace collective_test
}  // namespace tensorstat
