// Statistics and digests of a tensor share one read: what has gone by may be overwritten at once, and nothing
// changes. Whoever read it a second time, after more than two pieces, would read something else.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/digest/digest.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/engine.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace one_read_test {

using Bytes = std::vector<std::byte>;
using Message = std::span<const std::byte>;

Digest oracle(Message message, const EVP_MD* algorithm) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EXPECT_EQ(1, EVP_Digest(message.data(), message.size(), digest, &size, algorithm, nullptr));
  return Digest(std::as_bytes(std::span(digest).first(size)));
}

std::vector<Bytes> random_messages(std::size_t count, std::size_t most_bytes, samples::Random& random) {
  std::vector<Bytes> messages(count);
  for (Bytes& message : messages) {
    message.resize(random() % (most_bytes + 1));
    for (std::byte& byte : message) byte = static_cast<std::byte>(random());
  }
  return messages;
}

// Holds every message to whole pieces in order, and overwrites each piece when the second one after it comes.
class Scribbler final : public Md5Observer {
 public:
  explicit Scribbler(std::vector<Bytes>& messages) : messages_(messages), digests_(messages.size()) {}

  void begin(std::size_t lane, std::size_t message) override {
    EXPECT_FALSE(in_lane_.contains(lane)) << "a lane that is taken";
    in_lane_[lane] = {message, 0};
  }
  void piece(std::size_t lane, Message bytes) override {
    auto& [message, shown] = in_lane_.at(lane);
    Bytes& whole = messages_[message];
    ASSERT_EQ(whole.data() + shown, bytes.data());
    ASSERT_EQ(std::min(kObservedBytes, whole.size() - shown), bytes.size());
    if (shown >= 2 * kObservedBytes) {
      const auto old = whole.begin() + static_cast<std::ptrdiff_t>(shown - 2 * kObservedBytes);
      std::fill_n(old, kObservedBytes, std::byte{0xa5});
    }
    shown += bytes.size();
  }
  void end(std::size_t lane, std::size_t message, Result<Md5Digest> digest) override {
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_EQ(message, in_lane_.at(lane).first);
    EXPECT_EQ(messages_[message].size(), in_lane_.at(lane).second) << "all of it was shown";
    in_lane_.erase(lane);
    digests_[message] = Digest(*digest);
  }

  const std::vector<std::optional<Digest>>& digests() const { return digests_; }

 private:
  std::vector<Bytes>& messages_;
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> in_lane_;  // message, bytes shown
  std::vector<std::optional<Digest>> digests_;
};

class OneReadOn : public testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(Isa, OneReadOn, testing::ValuesIn(runnable_isas().begin(), runnable_isas().end()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(OneReadOn, LanesDigestWhatWasJustShown) {
  samples::Random random(samples::seed());
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{30}, std::size_t{150}}) {
    for (const bool alike : {true, false}) {
      std::vector<Bytes> messages = random_messages(count, 10 * kObservedBytes, random);
      if (alike) {
        for (Bytes& message : messages) message.resize(8 * kObservedBytes + 100);
      }
      std::vector<Digest> expected;
      for (const Bytes& message : messages) expected.push_back(oracle(message, EVP_md5()));
      const std::vector<Message> views(messages.begin(), messages.end());
      Scribbler scribbler(messages);
      ASSERT_TRUE(md5_many(views, scribbler, GetParam()));
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(expected[i], scribbler.digests()[i]) << i << " of " << count << ", seed " << samples::seed();
      }
    }
  }
}

// Every tensor is overwritten as soon as it has been taken: nothing of it is left to be read, whatever was wanted.
TEST(OneRead, ATensorIsDoneWithWhenItIsTaken) {
  samples::Random random(samples::seed());
  for (const Needs digests : {Needs{kNothing}, Needs{kMd5Digest}, Needs{kSha1Digest}, Needs{kDigests}}) {
    for (const unsigned threads : {1u, 3u}) {
      std::vector<Bytes> bytes = random_messages(200, 40'000, random);
      bytes.push_back(random_messages(1, 5'000'000, random)[0]);
      std::vector<Tensor> tensors;
      std::vector<Partial> expected;
      std::vector<Digest> md5;
      const auto engine = make_host_engine({.threads = threads});
      for (Bytes& each : bytes) {
        each.resize(each.size() / 4 * 4);
        tensors.push_back({.dtype = Dtype::kFloat32, .element_count = each.size() / 4, .address = each.data()});
        expected.emplace_back(Dtype::kFloat32, Precision::kHigh, Needs{kExtrema | kSigns | kSum | kSquares});
        const Job job{tensors.back(), &expected.back()};
        ASSERT_TRUE(engine->fold({&job, 1}));
        md5.push_back(oracle(each, EVP_md5()));
      }
      const Wanted wanted{Precision::kHigh, static_cast<Needs>(kExtrema | kSigns | kSum | kSquares | digests)};
      std::vector<int> taken(tensors.size());
      const Status status = engine->measure(tensors, wanted, [&](std::size_t i, const TensorResult& reading) {
        ++taken[i];
        Partial partial(Dtype::kFloat32, Precision::kHigh, Needs{kExtrema | kSigns | kSum | kSquares});
        merge(partial.dtype(), partial.words(), reading.words);
        EXPECT_EQ(expected[i].serialize(), partial.serialize()) << "tensor " << i << ", seed " << samples::seed();
        EXPECT_EQ((digests & kMd5Digest) != 0, reading.md5.has_value());
        EXPECT_EQ((digests & kSha1Digest) != 0, reading.sha1.has_value());
        if (reading.md5) {
          EXPECT_EQ(md5[i], *reading.md5) << "tensor " << i << ", seed " << samples::seed();
        }
        std::ranges::fill(bytes[i], std::byte{0xa5});
      });
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_TRUE(std::ranges::all_of(taken, [](int times) { return times == 1; })) << "each is taken once";
    }
  }
}

}  // namespace one_read_test
}  // namespace tensorstat
