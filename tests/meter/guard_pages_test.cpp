// No engine reads a byte before or after a tensor. The tensor is between two inaccessible pages, at offsets 0 to 15
// from either, with 0 to 1,025 elements, in every dtype. If the device shares the host's memory, its kernels read it
// there (CL_MEM_USE_HOST_PTR). TENSORSTAT_FULL=1 tests all sizes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>

#include "stats/core/engine/needs.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace guard_pages_test {

constexpr std::size_t kMostElements = 1025, kOffsets = 16;
constexpr Needs kEverything = kExtrema | kSigns | kSum | kSquares;

// Memory between two inaccessible pages.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), size_((bytes + page_ - 1) / page_ * page_) {
    void* const begin = mmap(nullptr, size_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(begin) + page_;
    mprotect(begin_, size_, PROT_READ | PROT_WRITE);
  }
  ~Guarded() { munmap(begin_ - page_, size_ + 2 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  // A copy of `bytes` that begins, or ends, `offset` bytes from a guard.
  const std::byte* placed(std::span<const std::byte> bytes, std::size_t offset, bool at_end) {
    std::byte* const to = at_end ? begin_ + size_ - offset - bytes.size() : begin_ + offset;
    std::ranges::copy(bytes, to);
    return to;
  }

 private:
  const std::size_t page_, size_;
  std::byte* begin_ = nullptr;
};

// Printed by the signal handler after a crash.
std::array<char, 200> doing;
void tell(int signal) {
  static_cast<void>(!write(STDERR_FILENO, doing.data(), std::strlen(doing.data())));
  std::signal(signal, SIG_DFL);
}

class GuardPages : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override {
    expect_forced_isa_runs();
    static_cast<void>(every_engine());
    for (const int signal : {SIGSEGV, SIGBUS}) std::signal(signal, tell);
  }

  static bool tried(std::size_t count, bool on_device) {
    if (samples::full() || count < 35 || count % 64 < 2 || count % 64 == 63) return true;
    return !on_device && (count + samples::seed()) % 4 == 0;
  }

  const Dtype dtype_ = GetParam();
  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, GuardPages, testing::ValuesIn(samples::whole_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(GuardPages, AreNotTouched) {
  if (samples::is_tried_with_fp64(dtype_)) GTEST_SKIP() << "its kernels use no fp64";
  const std::size_t element_bytes = size_bytes(dtype_);
  // As many as fit into one batch: each must stay until its batch is done.
  std::deque<Guarded> memory;
  for (std::size_t i = 0; i < 2 * kOffsets; ++i) memory.emplace_back(kMostElements * element_bytes + kOffsets);
  const auto host = make_host_engine({.threads = 1});
  std::size_t cases = 0;
  for (const EngineUnderTest& under_test : engines_of(dtype_)) {
    const bool on_device = under_test.name == "opencl";
    for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
      if (precision == Precision::kLow && !is_float(dtype_)) continue;
      for (std::size_t count = 0; count <= kMostElements; ++count) {
        if (!tried(count, on_device)) continue;
        const auto bytes = samples::one_of(dtype_, count, count, random_);
        Partial expected(dtype_, precision, kEverything);
        const Job plain{{.dtype = dtype_, .element_count = count, .address = bytes.data()}, &expected};
        ASSERT_TRUE(host->fold({&plain, 1}));
        std::deque<Partial> partials;
        std::vector<Job> jobs;
        for (std::size_t i = 0; i < memory.size(); ++i) {
          const Tensor tensor{
              .dtype = dtype_, .element_count = count, .address = memory[i].placed(bytes, i / 2, i % 2 != 0)};
          if (!under_test.engine->refusal(tensor, precision).empty()) continue;
          partials.emplace_back(dtype_, precision, kEverything);
          jobs.push_back({tensor, &partials.back()});
        }
        if (jobs.empty() && precision == Precision::kLow) continue;  // float64 needs fp64 there
        ASSERT_GE(jobs.size(), 2 * kOffsets / element_bytes) << under_test.name;
        std::snprintf(doing.data(), doing.size(), "%s, %s, %zu elements: outside of the tensor\n",
                      under_test.name.c_str(), std::string(name(dtype_)).c_str(), count);
        const Status status = under_test.engine->fold(jobs);
        ASSERT_TRUE(status) << status.error().message;
        for (const Partial& each : partials) {
          ASSERT_EQ(expected.serialize(), each.serialize())
              << under_test.name << ", " << count << ", seed " << samples::seed();
        }
        cases += jobs.size();
      }
    }
  }
  std::printf("%zu cases of %s\n", cases, std::string(name(dtype_)).c_str());
  std::size_t sizes = 0;
  for (std::size_t count = 0; count <= kMostElements; ++count) sizes += tried(count, false) ? 1 : 0;
  EXPECT_GE(cases, 2 * sizes * 2 * kOffsets)
      << "both host engines, each of these sizes at every offset, from either side";
}

// Checks the guard pages themselves: one byte further is a crash.
TEST(GuardPagesThemselves, EndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto read_at = [](std::ptrdiff_t past, bool at_end) {
    Guarded memory(100);
    const std::array<std::byte, 100> bytes{};
    const volatile std::byte* const first = memory.placed(bytes, 0, at_end);
    return first[at_end ? 99 + past : -past];
  };
  EXPECT_EQ(read_at(0, false), std::byte{0});
  EXPECT_EQ(read_at(0, true), std::byte{0});
  EXPECT_DEATH(static_cast<void>(read_at(1, false)), "");
  EXPECT_DEATH(static_cast<void>(read_at(1, true)), "");
}

}  // namespace guard_pages_test
}  // namespace tensorstat
