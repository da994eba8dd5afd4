// A GPU's memory without a GPU: the functions of tests/device/fake_gpu.cpp, and tests that run once for each driver.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tensorstat/meter.hpp>
#include <variant>
#include <vector>

#include "stats/core/engine/gpu/lane.hpp"
#include "tests/support/built.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat::test {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t kWindow = gpu::Lane::kWindowBytes;

// The functions of fake_gpu.cpp.
struct FakeGpu {
  explicit FakeGpu(const std::string& file) : library(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library, nullptr) << ::dlerror();
  }
  void* const library;
#define FUNCTION(name, result, ...) \
  result (*const name)(__VA_ARGS__) = reinterpret_cast<result (*)(__VA_ARGS__)>(::dlsym(library, "fake_gpu_" #name))
  FUNCTION(allocate, std::uint64_t, int, const void*, std::size_t, int);
  FUNCTION(free, void, std::uint64_t);
  FUNCTION(stream, void*, int, int);
  FUNCTION(write, void, int, void*, std::uint64_t, const void*, std::size_t);
  FUNCTION(fail, void, long, int);
  FUNCTION(calls, long);
  FUNCTION(held, long);
  FUNCTION(waits, long);
  FUNCTION(advance, void, int, void*, std::size_t);
  FUNCTION(largest_copy, std::size_t);
  FUNCTION(capture, void, void*, int);
  FUNCTION(has_broken_a_capture, int);
  FUNCTION(begin_capture, void*, void*, void*);
  FUNCTION(end_capture, void, void*);
  FUNCTION(replay, void, void*, void*);
  FUNCTION(current, void*);
  FUNCTION(make_current, void, void*);
  FUNCTION(capture_mode, int);
  FUNCTION(launches, long);  // this and the next three of CUDA's alone
  FUNCTION(lose_launch, void, long);
  FUNCTION(most_memory, void, std::size_t);
  FUNCTION(is_wrong, void, int);
#undef FUNCTION
};

inline const FakeGpu& fake(Where where) {
  static const FakeGpu cuda(built::fake_cuda_memory()), rocm(built::fake_rocm_memory());
  return where == Where::kCuda ? cuda : rocm;
}

// Device memory with a content.
class OnGpu {
 public:
  enum Place { kPrimary, kForeign, kPool };  // where its context is; memory of a pool has none
  OnGpu(const FakeGpu& gpu, const Bytes& content, int device = 0, Place place = kPrimary)
      : gpu_(gpu), pointer_(gpu.allocate(device, content.data(), content.size(), place)) {}
  OnGpu(const OnGpu&) = delete;
  ~OnGpu() { gpu_.free(pointer_); }
  std::uint64_t pointer() const { return pointer_; }
  const void* address() const { return reinterpret_cast<const void*>(pointer_); }

 private:
  const FakeGpu& gpu_;
  const std::uint64_t pointer_;
};

inline bool same(const Value& a, const Value& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return a == b || (x != nullptr && y != nullptr && *x != *x && *y != *y);
}

inline void expect_same(const Result<Measurements>& result, const Result<Measurements>& expected) {
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_EQ(result->size(), expected->size());
  for (std::size_t i = 0; i < result->size(); ++i) {
    const StatisticsView a = (*result)[i].statistics, b = (*expected)[i].statistics;
    for (std::size_t k = 0; k < b.values.size(); ++k) {
      EXPECT_TRUE(same(a.values[k], b.values[k])) << "tensor " << i << ", " << name(b.categories[k]) << ": "
                                                  << to_string(a.values[k]) << " for " << to_string(b.values[k]);
    }
  }
}

inline Tensor on_host(Dtype dtype, const Bytes& bytes) {
  return {.dtype = dtype, .element_count = elements_of(dtype, bytes.size()), .address = bytes.data()};
}

// Expects of each test that everything is given back.
class OfEachDriver : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override { EXPECT_EQ(gpu.held(), 0); }
  void TearDown() override {
    EXPECT_EQ(gpu.held(), 0) << "contexts, streams, events and windows are given back with the Meter";
    EXPECT_EQ(gpu.capture_mode(), 0);
    EXPECT_FALSE(gpu.has_broken_a_capture());
  }

  Tensor there(const OnGpu& memory, const Tensor& host) const {
    Tensor tensor = host;
    tensor.address = memory.address();
    tensor.where = GetParam();
    return tensor;
  }
  Bytes some(Dtype dtype, std::uint64_t count) { return samples::one_of(dtype, random(), count, random); }

  const FakeGpu& gpu = fake(GetParam());
  samples::Random random{samples::seed()};
};

inline const auto kEachDriver = testing::Values(Where::kCuda, Where::kRocm);
inline std::string driver_of(const testing::TestParamInfo<Where>& each) {
  return each.param == Where::kCuda ? "Cuda" : "Rocm";
}

}  // namespace tensorstat::test
