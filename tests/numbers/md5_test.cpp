// MD5 of one message and of many is OpenSSL's, on every instruction set that the machine has.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <vector>

#include "host/digest/digest.hpp"

namespace tensorstat {
namespace md5_test {

using Message = std::span<const std::byte>;

Md5Digest oracle(Message message) {
  Md5Digest digest;
  EXPECT_EQ(1, EVP_Digest(message.data(), message.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                          EVP_md5(), nullptr));
  return digest;
}

std::vector<std::byte> random_bytes(std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

void expect_oracle(const std::vector<Message>& messages, Isa isa, std::string_view what) {
  std::vector<Md5Digest> digests(messages.size());
  const Status status = md5_many(messages, digests, isa);
  ASSERT_TRUE(status) << status.error().message;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(to_string(Digest(oracle(messages[i]))), to_string(Digest(digests[i])))
        << name(isa) << ", " << what << ": message " << i << " of " << messages.size() << ", " << messages[i].size()
        << " bytes";
  }
}

// Every test runs on every instruction set.
class Md5OnEvery : public testing::TestWithParam<Isa> {
 protected:
  std::mt19937_64 random_{20261120};
};
INSTANTIATE_TEST_SUITE_P(Isa, Md5OnEvery, testing::ValuesIn(runnable_isas().begin(), runnable_isas().end()),
                         [](const auto& info) { return std::string(name(info.param)); });

// RFC 1321, A.5.
TEST_P(Md5OnEvery, GivesTheDigestsOfTheRfc) {
  const std::pair<std::string_view, std::string_view> suite[] = {
      {"", "d41d8cd98f00b204e9800998ecf8427e"},
      {"a", "0cc175b9c0f1b6a831c399e269772661"},
      {"abc", "900150983cd24fb0d6963f7d28e17f72"},
      {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
      {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
      {"1234567890123456789012345678901234567890"
       "1234567890123456789012345678901234567890",
       "57edf4a22be3c955ac49da2e2107b67a"}};
  std::vector<Message> messages;
  for (const auto& [text, digest] : suite) messages.push_back(std::as_bytes(std::span(text)));
  std::vector<Md5Digest> digests(messages.size());
  ASSERT_TRUE(md5_many(messages, digests, GetParam()));
  for (std::size_t i = 0; i < messages.size(); ++i) EXPECT_EQ(suite[i].second, to_string(Digest(digests[i])));
}

TEST_P(Md5OnEvery, PadsEveryLength) {
  const auto bytes = random_bytes(400, random_);
  std::vector<Message> messages;
  for (std::size_t length = 0; length <= 200; ++length) {
    messages.push_back(Message(bytes).first(length));
  }
  expect_oracle(messages, GetParam(), "ascending lengths");
  std::ranges::reverse(messages);
  expect_oracle(messages, GetParam(), "descending lengths");
}

// One message up to more than the widest set of lanes, of equal length: every number of vectors,
// and every number of lanes that idle in the last.
TEST_P(Md5OnEvery, TakesEveryNumberOfMessages) {
  const auto bytes = random_bytes(4096, random_);
  for (std::size_t length : {0, 55, 56, 63, 64, 65, 119, 120, 128, 1024}) {
    std::vector<Message> messages;
    for (std::size_t count = 0; count <= 70; ++count) {
      expect_oracle(messages, GetParam(), "equal lengths");
      messages.push_back(Message(bytes).subspan(13 * count, length));
    }
  }
}

TEST_P(Md5OnEvery, TakesMixedLengthsAtAnyAlignment) {
  const auto bytes = random_bytes(1 << 17, random_);
  for (int round = 0; round < 60; ++round) {
    std::vector<Message> messages(random_() % 300);
    for (Message& message : messages) {
      const std::size_t most = std::size_t{1} << (random_() % 14);  // short ones more often
      message = Message(bytes).subspan(random_() % (bytes.size() / 2), random_() % most);
    }
    expect_oracle(messages, GetParam(), "round " + std::to_string(round));
  }
}

// Lanes that go on alone: the long ones outlive all others, from any place in the queue.
TEST_P(Md5OnEvery, TakesAFewHugeAmongManySmall) {
  const auto bytes = random_bytes(3 << 20, random_);
  for (std::size_t huge = 1; huge <= 6; ++huge) {
    std::vector<Message> messages(200);
    for (Message& message : messages) message = Message(bytes).subspan(random_() % 999, random_() % 999);
    for (std::size_t i = 0; i < huge; ++i) {
      messages[random_() % messages.size()] = Message(bytes).subspan(i, bytes.size() - 5 * i * i - 6);
    }
    expect_oracle(messages, GetParam(), std::to_string(huge) + " huge");
  }
}

// The last byte of each message is the last readable one, and the first one the first: the
// sanitizers' build would see a lane that reads beside its message.
TEST_P(Md5OnEvery, ReadsNothingBesideTheMessages) {
  std::vector<std::vector<std::byte>> alone;
  for (std::size_t i = 0; i < 100; ++i) alone.push_back(random_bytes(i * 7, random_));
  const std::vector<Message> messages(alone.begin(), alone.end());
  expect_oracle(messages, GetParam(), "each in its own allocation");
}

TEST(Md5, TakesPiecesCutAnywhere) {
  std::mt19937_64 random(7);
  const auto bytes = random_bytes(5000, random);
  Md5 md5;  // one object for all: finish() leaves it as new
  for (int round = 0; round < 500; ++round) {
    const Message message = Message(bytes).first(random() % (bytes.size() + 1));
    for (Message rest = message; !rest.empty();) {
      const std::size_t cut = std::min<std::size_t>(random() % 300, rest.size());
      md5.update(rest.first(cut));
      rest = rest.subspan(cut);
    }
    const auto digest = md5.finish();
    ASSERT_TRUE(digest) << digest.error().message;
    ASSERT_EQ(to_string(Digest(oracle(message))), to_string(Digest(*digest))) << "round " << round;
  }
}

}  // namespace md5_test
}  // namespace tensorstat
