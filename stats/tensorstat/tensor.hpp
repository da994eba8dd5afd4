// SPDX-License-Identifier: Apache-2.0
// A tensor is an address, a dtype and an element count. It does not own the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tensorstat/catalog.hpp>
#include <vector>

namespace tensorstat {

enum class Where : std::uint8_t {
  kHost,          // `address` is readable by the CPU, any alignment
  kClBuffer,      // `address` is a cl_mem; the tensor begins `offset_bytes` into it
  kSharedMemory,  // `address` is an SVM pointer of the context of MeterOptions::queue (stats/doc/cpp.md)
  kCuda,          // `address` is a device pointer of CUDA; read behind the work of `stream`
  kRocm,          // as kCuda, of ROCm
};

constexpr bool is_readable_by_cpu(Where where) { return where == Where::kHost || where == Where::kSharedMemory; }
constexpr bool is_in_gpu_memory(Where where) { return where == Where::kCuda || where == Where::kRocm; }

// Dimensions, outermost first. {} is a scalar with one element; a 0 anywhere makes an empty tensor.
using Shape = std::vector<std::uint64_t>;

// The layout of a tensor that is not contiguous in C order. Element (i, j, ...) begins i * bytes[0] + j * bytes[1] +
// ... bytes after the first element. Strides may be 0 or negative.
struct Strides {
  Shape shape;
  std::vector<std::int64_t> bytes;  // one for each dimension
};

// A tensor of a packed dtype (dtypes.inc) begins at a byte and has no strides.
struct Tensor {
  Dtype dtype = Dtype::kFloat32;
  std::uint64_t element_count = 0;
  const void* address = nullptr;
  std::uint64_t offset_bytes = 0;
  Where where = Where::kHost;
  const Strides* strides = nullptr;  // only for host memory; the product of its shape is element_count
  // kCuda, kRocm: the CUstream or hipStream_t, of the tensor's device, on which its values are made; null: the default
  // stream. The tensor is read behind what the stream holds when it is handed over. The stream must live until then.
  void* stream = nullptr;

  std::uint64_t bytes() const { return bytes_of(dtype, element_count); }

  // The first element; not valid if `address` is a cl_mem. With negative strides, other elements lie before it.
  const std::byte* data() const { return static_cast<const std::byte*>(address) + offset_bytes; }
};

// Product of the dimensions; 1 for {}. kInvalid if the product, or the product times `element_bytes`, exceeds 2^63-1.
Result<std::uint64_t> element_count(const Shape& shape, std::uint64_t element_bytes = 1);

std::string to_string(const Shape& shape);  // "(2,3)", "(3)", "()": no spaces, as MindSpore writes shapes

}  // namespace tensorstat
