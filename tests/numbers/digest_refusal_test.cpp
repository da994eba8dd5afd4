// A program whose OpenSSL refuses MD5 still has digests here; and where none can be had, the answer
// is an error with words, for one message and for many alike.
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <vector>

#include "host/digest/digest.hpp"

namespace tensorstat {
namespace digest_refusal_test {

constexpr const char* kMd5OfNothing = "d41d8cd98f00b204e9800998ecf8427e";

bool no_memory = false;

// OpenSSL takes its memory functions only before its first allocation: before main().
const bool kInstalled = CRYPTO_set_mem_functions(
    [](std::size_t bytes, const char*, int) { return no_memory ? nullptr : std::malloc(bytes); },
    [](void* old, std::size_t bytes, const char*, int) { return no_memory ? nullptr : std::realloc(old, bytes); },
    [](void* old, const char*, int) { std::free(old); });

// In a process of its own: what was fetched, or was not, stays so.
template <typename Test>
void in_a_child(Test test) {
  EXPECT_EXIT(std::_Exit(test() && !testing::Test::HasFailure() ? 0 : 1), testing::ExitedWithCode(0), "");
}

// OpenSSL 3.6 hangs or dies where it has no memory for its own tables.
bool survives_without_memory() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    no_memory = true;
    OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
    if (context != nullptr) OSSL_PROVIDER_load(context, "default");
    _exit(0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status);
}

TEST(DigestRefusal, TheProgramsPropertiesDoNotReachThePrivateContext) {
  in_a_child([] {
    EXPECT_EQ(1, EVP_default_properties_enable_fips(nullptr, 1));
    EVP_MD* refused = EVP_MD_fetch(nullptr, "MD5", nullptr);
    EXPECT_EQ(nullptr, refused) << "the program itself was to be refused";
    ERR_clear_error();

    auto digest = Md5().finish();
    EXPECT_TRUE(digest) << digest.error().message;
    EXPECT_EQ(0u, ERR_peek_error());
    return digest && to_string(Digest(*digest)) == kMd5OfNothing;
  });
}

TEST(DigestRefusal, WithoutAnAlgorithmEveryWayToADigestSaysSo) {
  ASSERT_TRUE(kInstalled);
  if (!survives_without_memory()) GTEST_SKIP() << "this OpenSSL does not outlive a lack of memory";
  in_a_child([] {
    no_memory = true;
    const auto one = Md5().finish();
    const std::vector<std::span<const std::byte>> messages(5);
    std::vector<Md5Digest> digests(5);
    const Status many = md5_many(messages, digests);
    TwoLevelSha1 sha1(4);
    const std::vector<std::byte> two_slices(4 * 20481);
    sha1.update(two_slices);
    const auto sha = sha1.finish();
    no_memory = false;

    EXPECT_EQ(0u, ERR_peek_error()) << "an error was left in the caller's queue";
    if (one || many || sha) return false;
    EXPECT_EQ(Code::kUnsupported, one.error().code);
    EXPECT_NE(std::string::npos, one.error().message.find("computing MD5: OpenSSL has none")) << one.error().message;
    EXPECT_EQ(one.error().message, many.error().message);
    EXPECT_NE(std::string::npos, sha.error().message.find("computing SHA1")) << sha.error().message;
    return true;
  });
}

TEST(DigestRefusal, CostsAnEmptyCellAndNoRow) {
  if (!survives_without_memory()) GTEST_SKIP() << "this OpenSSL does not outlive a lack of memory";
  in_a_child([] {
    no_memory = true;
    int warnings = 0;
    const Log log = [&](Severity severity, std::string_view) { warnings += severity == Severity::kWarning; };
    Meter meter({.threads = 2, .log = log});
    const std::vector<float> data(100'000, 1.5f);
    const Strides strides{{100}, {8}};
    std::vector<Tensor> tensors(5, {.dtype = Dtype::kFloat32, .element_count = 20'000, .address = data.data()});
    tensors.push_back({.dtype = Dtype::kFloat32, .element_count = 100, .address = data.data(), .strides = &strides});
    const std::vector<Value> expected{Value{}, 1.5, Value{}};
    const Request request{.categories = {Category::kMd5, Category::kAvg, Category::kHash}, .on = On::kHost};
    for (std::size_t count = 1; count <= tensors.size(); ++count) {
      const auto result = meter.measure(std::span(tensors).last(count), request);
      EXPECT_TRUE(result);
      for (const Measurement& each : *result) {
        EXPECT_EQ(expected, Statistics(each.statistics).values);
      }
    }
    auto stream = meter.stream(Dtype::kFloat32, request);
    EXPECT_TRUE(stream->append(std::as_bytes(std::span(data))));
    const auto result = stream->finish();
    EXPECT_EQ(expected, Statistics(result->front().statistics).values);
    no_memory = false;
    EXPECT_EQ(1, warnings);
    return true;
  });
}

TEST(DigestRefusal, AMomentWithoutMemoryIsReportedOnceAndPasses) {
  in_a_child([] {
    if (!Md5().finish()) return false;  // fetched
    Md5 md5;
    no_memory = true;
    const auto failed = md5.finish();
    no_memory = false;
    EXPECT_FALSE(failed);
    auto digest = md5.finish();
    return digest && to_string(Digest(*digest)) == kMd5OfNothing;
  });
}

}  // namespace digest_refusal_test
}  // namespace tensorstat
