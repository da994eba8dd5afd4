// Any OpenCL call may fail, once or from then on. When `measure` returns, no running kernel or upload reads a tensor
// any more. The test then unmaps each tensor. All work on the device starts late, so that a read of unmapped memory
// ends the process. TENSORSTAT_FULL=1 tries every call with every code.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace freed_memory_test {

// The same as in callers_queue_test, which builds these kernels, too.
const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");
constexpr int kCodes[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_INVALID_VALUE, CL_DEVICE_NOT_AVAILABLE};
constexpr int kLateMs = 8;

using Rows = std::vector<std::vector<Value>>;

// A copy of some bytes in pages of their own. After its destruction reading them is a crash: no other pages take their
// addresses.
class Pages {
 public:
  explicit Pages(const std::vector<std::byte>& bytes) : size_(bytes.size()) {
    address_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address_ == MAP_FAILED) throw std::runtime_error("mmap failed");
    std::memcpy(address_, bytes.data(), size_);
  }
  ~Pages() { mmap(address_, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  const void* address() const { return address_; }

 private:
  void* address_ = nullptr;
  std::size_t size_;
};

struct Way {
  const char *name, *variable, *value;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class FreedMemory : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kInt8}) {
      dtypes_.push_back(dtype);
      bytes_.push_back(samples::of(dtype)[0].make(dtype, 300'000, random_));
    }
    const auto expected = measured(On::kHost);
    ASSERT_TRUE(expected);
    expected_ = *expected;
    static_cast<void>(cl_layer());
    setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
    if (*GetParam().variable != '\0') setenv(GetParam().variable, GetParam().value, 1);
  }
  void TearDown() override {
    cl_layer().late_ms = 0;
    unsetenv("TENSORSTAT_CL_ZERO_COPY");
    if (*GetParam().variable != '\0') unsetenv(GetParam().variable);
  }

  Result<Rows> measured(On on) const {
    Meter meter;
    const Pages pages[] = {Pages(bytes_[0]), Pages(bytes_[1])};
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      tensors.push_back({.dtype = dtypes_[i],
                         .element_count = bytes_[i].size() / size_bytes(dtypes_[i]),
                         .address = pages[i].address()});
    }
    const auto result = meter.measure(tensors, {.categories = kCategories, .on = on});
    if (!result) return result.error();
    Rows rows;
    for (const Measurement& each : *result) rows.push_back(Statistics(each.statistics).values);
    return rows;
  }

  samples::Random random_{samples::seed()};
  std::vector<Dtype> dtypes_;
  std::vector<std::vector<std::byte>> bytes_;
  Rows expected_;
};
INSTANTIATE_TEST_SUITE_P(Ways, FreedMemory,
                         testing::Values(Way{"Pointers", "", ""}, Way{"Buffers", "TENSORSTAT_CL_POINTERS", "0"},
                                         Way{"Uploads", "TENSORSTAT_CL_ZERO_COPY", "0"},
                                         Way{"Groups", "TENSORSTAT_CL_SHAPE", "group"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(FreedMemory, IsNotReadAnyMore) {
  ClLayer& layer = cl_layer();
  const auto first = measured(On::kDevice);  // fills the caches on disk
  ASSERT_TRUE(first) << first.error().message;
  layer.late_ms = kLateMs;
  layer.calls = 0;
  ASSERT_TRUE(measured(On::kDevice));
  const std::int64_t calls = layer.calls;
  int faults = 0, errors = 0;
  for (std::int64_t call = 1; call <= calls; ++call) {
    for (const int code : kCodes) {
      if (!samples::full() && code != kCodes[call % 4]) continue;
      for (const bool sticky : {true, false}) {
        if (!samples::full() && !sticky && call % 8 != 0) continue;
        layer.calls = 0;
        layer.code = code;
        layer.sticky = sticky;
        layer.fail_at = call;
        const auto result = measured(On::kDevice);
        layer.fail_at = 0;
        ++faults;
        const std::string where = "call " + std::to_string(call) + " of " + std::to_string(calls) + ", code " +
                                  std::to_string(code) + (sticky ? ", sticky" : "");
        if (result) {
          ASSERT_EQ(*result, expected_) << where;
        } else {
          ++errors;
          ASSERT_FALSE(result.error().message.empty()) << where;
        }
      }
    }
  }
  const auto clean = measured(On::kDevice);
  ASSERT_TRUE(clean) << clean.error().message;
  EXPECT_EQ(*clean, expected_);
  std::printf("%s: %d faults over %d calls, %d errors\n", GetParam().name, faults, static_cast<int>(calls), errors);
  EXPECT_GE(faults, samples::full() ? 500 : 60);
}

}  // namespace freed_memory_test
}  // namespace tensorstat
