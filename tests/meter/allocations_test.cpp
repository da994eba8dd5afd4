// The number of allocations for a batch depends on its kinds of tensors, not on the number of tensors. A single tensor
// takes two.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

namespace {

std::atomic<std::int64_t> allocations{0};

void* counted(std::size_t bytes) {
  ++allocations;
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}

// noinline: if GCC 12 inlines this but not operator new, it warns of a mismatch.
[[gnu::noinline]] void given_back(void* block) { std::free(block); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* block) noexcept { given_back(block); }
void operator delete[](void* block) noexcept { given_back(block); }
void operator delete(void* block, std::size_t) noexcept { given_back(block); }
void operator delete[](void* block, std::size_t) noexcept { given_back(block); }

namespace tensorstat {
namespace allocations_test {

class Allocations : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Of, Allocations,
                         testing::Values("max,l2norm,avg,nan count", "all", "all,hash", "md5", "hash", "p1,p50,p99.9"),
                         [](const auto& info) { return "case_" + std::to_string(info.index); });

TEST_P(Allocations, AreNotOfTensors) {
  const Categories categories = *categories_from(GetParam());
  constexpr std::size_t kMany = 5000, kElements = 100;
  const std::vector<float> data(kMany * kElements, 1.5f);
  std::vector<Tensor> tensors(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    tensors[i] = {.dtype = Dtype::kFloat32, .element_count = kElements, .address = data.data() + i * kElements};
  }
  for (const unsigned threads : {1u, 2u}) {
    Meter meter({.threads = threads});
    const Request request{.categories = categories, .on = On::kHost};
    const auto taken = [&](std::size_t count) {
      const std::int64_t before = allocations;
      const auto result = meter.measure(std::span(tensors).first(count), request);
      EXPECT_TRUE(result) << result.error().message;
      return allocations - before;
    };
    taken(kMany);  // starts threads, and fetches OpenSSL's algorithms
    // Vectors that double their capacity may do so a few more times.
    EXPECT_LT(taken(kMany), taken(100) + 20) << threads << " threads";
  }
}

TEST(Allocations, OfATensorAloneIsOne) {
  const std::vector<float> data(1024, 1.5f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  for (const On on : {On::kHost, On::kAuto}) {
    Meter meter({.threads = 2});
    const Request request{.categories = *categories_from("max,min,avg,l2norm,nan count,std,argmax,crc32"), .on = on};
    ASSERT_TRUE(meter.measure({&tensor, 1}, request));
    const std::int64_t before = allocations;
    const auto result = meter.measure({&tensor, 1}, request);
    EXPECT_EQ(1, allocations - before);
    ASSERT_TRUE(result);
    EXPECT_EQ(1.5, std::get<double>(*result->front().statistics.find(Category::kAvg)));
  }
}

}  // namespace allocations_test
}  // namespace tensorstat
