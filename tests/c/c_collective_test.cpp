// Through C: the partials of 1, 2, 3, 5 and 7 ranks, reduced here, have the bytes of the whole tensor's; two rounds a
// step after the first; an error on one rank is an error on all, after the same rounds.
#include <gtest/gtest.h>
#include <tensorstat/tensorstat.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace c_collective_test {

using Collectives = std::vector<tensorstat_collective*>;

Collectives opened(uint32_t ranks) {
  Collectives all(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(tensorstat_collective_open(rank, ranks, &all[rank]), TENSORSTAT_OK) << tensorstat_last_error();
  }
  return all;
}

void close(Collectives& all) {
  for (tensorstat_collective* each : all) tensorstat_collective_free(each);
}

// All rounds of a step that has begun; their number.
int reduce(const Collectives& all) {
  for (int rounds = 0;; ++rounds) {
    std::vector<int64_t*> words(all.size());
    size_t count = 0;
    int32_t round = TENSORSTAT_ROUNDS_DONE;
    for (size_t rank = 0; rank < all.size(); ++rank) {
      size_t own_count = 0;
      const int32_t own = tensorstat_collective_next(all[rank], &words[rank], &own_count);
      if (rank == 0) round = own, count = own_count;
      EXPECT_EQ(own, round);
      EXPECT_EQ(own_count, count);
      if (own != round || own_count != count) return -1;
    }
    if (round == TENSORSTAT_ROUNDS_DONE) return rounds;
    for (size_t i = 0; i < count; ++i) {
      int64_t whole = words[0][i];
      for (size_t rank = 1; rank < words.size(); ++rank) {
        whole = round == TENSORSTAT_ROUND_MAX ? std::max(whole, words[rank][i]) : whole + words[rank][i];
      }
      for (int64_t* each : words) each[i] = whole;
    }
  }
}

std::string bytes_of(const tensorstat_partial* partial) {
  size_t size = 0;
  EXPECT_EQ(tensorstat_partial_serialize(partial, nullptr, 0, &size), TENSORSTAT_OK);
  std::string bytes(size, 0);
  EXPECT_EQ(tensorstat_partial_serialize(partial, bytes.data(), size, &size), TENSORSTAT_OK);
  return bytes;
}

class CCollective : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(tensorstat_meter_open(nullptr, &meter_), TENSORSTAT_OK);
    for (int i = 0; i < 5000; ++i) values_.push_back(static_cast<float>(i * 7919 % 1001 - 300) * 0.37f);
  }
  void TearDown() override { tensorstat_meter_close(meter_); }

  tensorstat_partial* folded(size_t begin, size_t end, const char* statistics) {
    tensorstat_tensor tensor = TENSORSTAT_TENSOR;
    tensor.dtype = tensorstat_dtype_named("float32");
    tensor.element_count = end - begin;
    tensor.address = values_.data() + begin;
    tensorstat_request request = TENSORSTAT_REQUEST;
    request.statistics = statistics;
    tensorstat_partial* partial = nullptr;
    EXPECT_EQ(tensorstat_fold(meter_, &tensor, 1, &request, &partial), TENSORSTAT_OK) << tensorstat_last_error();
    EXPECT_EQ(tensorstat_partial_move_to(partial, begin), TENSORSTAT_OK);
    return partial;
  }

  tensorstat_meter* meter_ = nullptr;
  std::vector<float> values_;
};

TEST_F(CCollective, GivesTheBytesOfTheWhole) {
  const struct {
    const char* statistics;
    int rounds;
  } cases[] = {{"max,min,avg,l2norm,nan count", 2}, {"avg,crc32,xor64,argmax", 3}, {"p50,p99,max", 2}};
  for (const auto& each : cases) {
    tensorstat_partial* const expected = folded(0, values_.size(), each.statistics);
    for (const uint32_t ranks : {1u, 2u, 3u, 5u, 7u}) {
      Collectives all = opened(ranks);
      for (int step = 0; step < 3; ++step) {
        for (uint32_t rank = 0; rank < ranks; ++rank) {
          const auto cut = [&](uint32_t share) {
            return share == ranks ? values_.size() : share * (values_.size() / ranks);
          };
          tensorstat_partial* const part = folded(cut(rank), cut(rank + 1), each.statistics);
          ASSERT_EQ(tensorstat_collective_begin(all[rank], &part, 1, "name"), TENSORSTAT_OK) << tensorstat_last_error();
          tensorstat_partial_free(part);  // it was copied
        }
        EXPECT_EQ(reduce(all), each.rounds + (step == 0)) << each.statistics;
        for (tensorstat_collective* rank : all) {
          tensorstat_partial* whole = nullptr;
          ASSERT_EQ(tensorstat_collective_finish(rank, &whole), TENSORSTAT_OK) << tensorstat_last_error();
          EXPECT_EQ(bytes_of(whole), bytes_of(expected)) << each.statistics << ", " << ranks << " ranks";
          tensorstat_partial_free(whole);
        }
      }
      close(all);
    }
    tensorstat_partial_free(expected);
  }
}

TEST_F(CCollective, AnErrorIsOneOnEveryRank) {
  Collectives all = opened(3);
  tensorstat_partial* const part = folded(0, 10, "max");
  tensorstat_partial* const other = folded(0, 10, "max,avg,var");
  tensorstat_partial* const none = nullptr;
  const auto usual = [&](tensorstat_collective* rank) {
    EXPECT_EQ(tensorstat_collective_begin(rank, &part, 1, nullptr), TENSORSTAT_OK);
  };
  const struct {
    std::function<void(tensorstat_collective*)> begin;
    const char* words;
  } cases[] = {
      {[](tensorstat_collective* rank) { tensorstat_collective_begin_failed(rank, "its shard is gone"); },
       "rank 1 failed, so no rank has a result: its shard is gone"},
      {[](tensorstat_collective* rank) { tensorstat_collective_begin_failed(rank, nullptr); }, "rank 1 failed"},
      {[&](tensorstat_collective* rank) { tensorstat_collective_begin(rank, &other, 1, nullptr); }, "the same list"},
      {[&](tensorstat_collective* rank) { tensorstat_collective_begin(rank, &part, 1, "b"); }, "the same list"},
      {[&](tensorstat_collective* rank) { tensorstat_collective_begin(rank, nullptr, 0, nullptr); }, "the same list"},
      {[&](tensorstat_collective* rank) {
         EXPECT_EQ(tensorstat_collective_begin(rank, &none, 1, nullptr), TENSORSTAT_INVALID);
       },
       "rank 1 failed"},
      {[&](tensorstat_collective* rank) {
         EXPECT_EQ(tensorstat_collective_begin(rank, nullptr, 3, nullptr), TENSORSTAT_INVALID);
       },
       "rank 1 failed"}};
  for (const auto& each : cases) {
    for (const bool is_bad : {true, false}) {
      for (size_t rank = 0; rank < 3; ++rank) {
        if (is_bad && rank == 1) {
          each.begin(all[rank]);
        } else {
          usual(all[rank]);
        }
      }
      EXPECT_GE(reduce(all), 2);
      for (size_t rank = 0; rank < 3; ++rank) {
        tensorstat_partial* whole = nullptr;
        EXPECT_EQ(tensorstat_collective_finish(all[rank], &whole) == TENSORSTAT_OK, !is_bad);
        if (is_bad && rank != 1) {
          EXPECT_NE(std::string(tensorstat_last_error()).find(each.words), std::string::npos)
              << tensorstat_last_error();
        }
        tensorstat_partial_free(whole);
      }
    }
  }
  tensorstat_partial_free(part);
  tensorstat_partial_free(other);
  close(all);
}

TEST_F(CCollective, RefusesWhatIsMissing) {
  tensorstat_collective* collective = nullptr;
  EXPECT_EQ(tensorstat_collective_open(3, 3, &collective), TENSORSTAT_INVALID);
  EXPECT_NE(std::string(tensorstat_last_error()).find("rank 3 of 3 does not exist"), std::string::npos);
  EXPECT_EQ(tensorstat_collective_open(0, 1, nullptr), TENSORSTAT_INVALID);
  EXPECT_EQ(collective, nullptr);
  int64_t* words = nullptr;
  size_t count = 0;
  EXPECT_EQ(tensorstat_collective_next(nullptr, &words, &count), TENSORSTAT_ROUNDS_DONE);
  EXPECT_EQ(tensorstat_collective_begin(nullptr, nullptr, 0, nullptr), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_collective_begin_failed(nullptr, ""), TENSORSTAT_INVALID);
  EXPECT_EQ(tensorstat_collective_finish(nullptr, nullptr), TENSORSTAT_INVALID);
  ASSERT_EQ(tensorstat_collective_open(0, 1, &collective), TENSORSTAT_OK);
  tensorstat_partial* const part = folded(0, 10, "max");
  tensorstat_partial* whole = nullptr;
  ASSERT_EQ(tensorstat_collective_begin(collective, &part, 1, nullptr), TENSORSTAT_OK);
  EXPECT_EQ(tensorstat_collective_finish(collective, &whole), TENSORSTAT_INVALID);  // its rounds have not run
  EXPECT_EQ(whole, nullptr);
  tensorstat_partial_free(part);
  tensorstat_collective_free(collective);
  tensorstat_collective_free(nullptr);
}

}  // namespace c_collective_test
