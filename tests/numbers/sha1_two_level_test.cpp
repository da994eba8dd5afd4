// MindSpore's SHA-1: of the bytes up to 20,480 elements, of the slices' hexadecimal digests beyond.
#include <gtest/gtest.h>
#include <openssl/sha.h>

#include <cstdio>
#include <random>
#include <string>
#include <tensorstat/statistics.hpp>
#include <vector>

#include "host/digest/digest.hpp"

namespace tensorstat {
namespace sha1_two_level_test {

std::string sha1_hex(const std::string& bytes) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  std::string text;
  for (unsigned char byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

std::string oracle(const std::string& bytes, std::size_t element_bytes) {
  if (bytes.size() / element_bytes <= 20480) return sha1_hex(bytes);
  std::string all;
  for (std::size_t offset = 0; offset < bytes.size(); offset += 20480 * element_bytes) {
    all += sha1_hex(bytes.substr(offset, 20480 * element_bytes));
  }
  return sha1_hex(all);
}

TEST(Sha1TwoLevel, IsTheOraclesWhereverThePiecesAreCut) {
  std::mt19937_64 random(11);
  for (std::size_t element_bytes : {1, 2, 4, 8, 16}) {
    TwoLevelSha1 sha1(TwoLevelSha1::kSliceElements * element_bytes);  // finish() leaves it as new
    for (std::size_t count : {0, 1, 20479, 20480, 20481, 40959, 40960, 40961, 70000, 5}) {
      std::string bytes(count * element_bytes, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const std::string want = oracle(bytes, element_bytes);
      for (std::size_t most : {bytes.size(), std::size_t{20480} * element_bytes, std::size_t{9999}}) {
        for (std::size_t offset = 0; offset < bytes.size();) {
          const std::size_t cut = std::min(most == 9999 ? random() % most : most, bytes.size() - offset);
          sha1.update(std::as_bytes(std::span(bytes).subspan(offset, cut)));
          offset += cut;
        }
        const auto digest = sha1.finish();
        ASSERT_TRUE(digest) << digest.error().message;
        ASSERT_EQ(want, to_string(Digest(*digest)))
            << count << " elements of " << element_bytes << " bytes in pieces of up to " << most;
      }
    }
  }
}

// FIPS 180-1, appendix A.
TEST(Sha1TwoLevel, OfFewElementsIsPlainSha1) {
  TwoLevelSha1 sha1(TwoLevelSha1::kSliceElements);
  sha1.update(std::as_bytes(std::span("abc", 3)));
  const auto digest = sha1.finish();
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ("a9993e364706816aba3e25717850c26c9cd0d89d", to_string(Digest(*digest)));
}

}  // namespace sha1_two_level_test
}  // namespace tensorstat
