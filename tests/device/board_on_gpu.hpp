// Tests of a board on the double of CUDA's driver: tensors with their values, and boards that are warm.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <tensorstat/opencl.hpp>
#include <utility>
#include <vector>

#include "tests/support/on_fake_cuda.hpp"

namespace tensorstat::test {

inline const Categories kSome = {Category::kMax, Category::kAvg, Category::kL2norm, Category::kNanCount,
                                 Category::kArgmax};
inline const std::vector<Dtype> kDtypes = {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kInt64};

class BoardOnGpu : public OnFakeCuda {
 protected:
  void SetUp() override {
    OnFakeCuda::SetUp();
    for (const Dtype dtype : kDtypes) plant(dtype, kSome);
  }

  // A tensor on a GPU, and its values.
  struct Sample {
    Bytes bytes;
    std::unique_ptr<OnGpu> memory;
    Tensor tensor;
  };
  Sample sample(Dtype dtype, std::uint64_t count, void* stream = nullptr, int device = 0) {
    Sample made{samples::one_of(dtype, random(), count, random), {}, {}};
    made.memory = std::make_unique<OnGpu>(gpu, made.bytes, device);
    made.tensor = {.dtype = dtype, .element_count = count, .address = made.memory->address(), .where = Where::kCuda};
    made.tensor.stream = stream;
    return made;
  }
  static Result<Measurements> expected(Dtype dtype, const Bytes& bytes) {
    const Tensor tensor = on_host(dtype, bytes);
    return Meter().measure({&tensor, 1}, {.categories = kSome, .on = On::kHost});
  }
  static Board board(Meter& meter) {
    auto made = Board::on(meter, {.categories = kSome});
    if (!made) throw std::runtime_error(made.error().message);
    return *std::move(made);
  }
  // The first step makes the kernels and the memory, which waits.
  void warm(Board& board, const Sample& sample, int tensors = 1) {
    std::vector<BoardTicket> tickets;
    for (int step = 0; step < 2; ++step) {
      for (int i = 0; i < tensors; ++i) tickets.push_back(*board.fold(sample.tensor));
      board.end_step();
    }
    for (const BoardTicket& each : tickets) expect_same(each.collect(), expected(sample.tensor.dtype, sample.bytes));
  }
};

}  // namespace tensorstat::test
