// Counts have 64 bits to the end: tensors of more elements than 31 and 32 bits can count, in the
// memory of a small one that is mapped again and again.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/core/engine/needs.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace large_count_test {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

// `bytes` of address space, every block of it the same memory.
class Repeated {
 public:
  Repeated(std::span<const std::byte> block, std::size_t bytes)
      : size_((bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes) {
    const int file = memfd_create("block", 0);
    EXPECT_EQ(static_cast<ssize_t>(kBlockBytes), write(file, block.data(), kBlockBytes));
    void* const begin = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(MAP_FAILED, begin);
    data_ = static_cast<std::byte*>(begin);
    for (std::size_t offset = 0; offset < size_; offset += kBlockBytes) {
      EXPECT_NE(MAP_FAILED, mmap(data_ + offset, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0));
    }
    close(file);
  }
  ~Repeated() { munmap(data_, size_); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  const std::byte* data() const { return data_; }

 private:
  const std::size_t size_;
  std::byte* data_ = nullptr;
};

// The expected statistics of `times` blocks and a tail.
oracle::Facts together(const oracle::Facts& block, std::uint64_t times, const oracle::Facts& tail) {
  oracle::Facts all = block;
  all.count = block.count * times + tail.count;
  all.zeros = block.zeros * times + tail.zeros;
  all.negatives = block.negatives * times + tail.negatives;
  all.sum = block.sum * mpz_class(times) + tail.sum;
  all.squares = block.squares * mpz_class(times) + tail.squares;
  return all;
}

class LargeCount : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(Dtype, LargeCount, testing::Values(Dtype::kInt8, Dtype::kBool),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(LargeCount, BeyondWhat32BitsCount) {
  samples::Random random(samples::seed());
  std::vector<std::byte> block(kBlockBytes);
  for (std::size_t i = 0; i < kBlockBytes; i += 8) {
    const std::uint64_t bits = random() & 0x80ff80ff80ff80ff;  // both dtypes see zeros and much else
    std::copy_n(reinterpret_cast<const std::byte*>(&bits), 8, &block[i]);
  }
  const oracle::Facts of_block = oracle::facts(GetParam(), block);
  const Repeated memory(block, (std::size_t{1} << 32) + 9);
  for (const std::uint64_t count : {(std::uint64_t{1} << 31) + 7, (std::uint64_t{1} << 32) + 9}) {
    // The quick test takes one of the two for each dtype.
    if (!samples::full() && (count >> 32 != 0) != (GetParam() == Dtype::kInt8)) continue;
    const oracle::Facts tail = oracle::facts(GetParam(), std::span(block).first(count % kBlockBytes));
    const auto truth = oracle::answers(together(of_block, count / kBlockBytes, tail));
    for (const EngineUnderTest& under_test : every_engine()) {
      Partial partial(GetParam(), Precision::kHigh, kExtrema | kSigns | kSum | kSquares);
      const Job job{{.dtype = GetParam(), .element_count = count, .address = memory.data()}, &partial};
      const Status status = under_test.engine->fold({&job, 1});
      ASSERT_TRUE(status) << under_test.name << ": " << status.error().message;
      for (const Category category : all_categories()) {
        const Value& expected = truth[static_cast<std::size_t>(category)];
        EXPECT_TRUE(oracle::same(expected, partial.finish(category)))
            << under_test.name << ", " << count << " elements: " << name(category) << "\n  must be "
            << oracle::shown(expected) << "\n  is      " << oracle::shown(partial.finish(category));
      }
    }
  }
}

}  // namespace large_count_test
}  // namespace tensorstat
