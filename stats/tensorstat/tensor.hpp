// SPDX-License-Identifier: Apache-2.0
// A tensor as the library sees it: bits somewhere, a dtype, a shape. Nothing here owns the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <tensorstat/catalog.hpp>

namespace tensorstat {

enum class Where : std::uint8_t {
  kHost,          // `address` is readable by the CPU, any alignment
  kClBuffer,      // `address` is a cl_mem; the tensor begins `offset_bytes` into it
  kSharedMemory,  // `address` is an SVM pointer: readable by the CPU and by the device
};

// Dimensions, outermost first. {} is a scalar with one element; a 0 anywhere makes an empty tensor.
using Shape = std::vector<std::uint64_t>;

// How the elements of a tensor lie that are not one after another in C order: element (i, j, ...) is
// i * bytes[0] + j * bytes[1] + ... bytes from the first. Strides may be 0 or negative.
struct Strides {
  Shape shape;
  std::vector<std::int64_t> bytes;  // as many as dimensions
};

// Those of a packed dtype (catalog.inc) begin at a byte, and have no strides.
struct Tensor {
  Dtype dtype = Dtype::kFloat32;
  std::uint64_t element_count = 0;
  const void* address = nullptr;
  std::uint64_t offset_bytes = 0;
  Where where = Where::kHost;
  const Strides* strides = nullptr;  // for a strided tensor in host memory; its shape holds element_count

  std::uint64_t bytes() const { return bytes_of(dtype, element_count); }

  // Where its elements begin, unless `address` is a cl_mem. With strides, the first element; others may lie before it.
  const std::byte* data() const { return static_cast<const std::byte*>(address) + offset_bytes; }
};

// Product of the dimensions; an error when it, or its product with `element_bytes`, exceeds 2^63-1.
Result<std::uint64_t> element_count(const Shape& shape, std::uint64_t element_bytes = 1);

std::string to_string(const Shape& shape);  // "(2,3)", "(3)", "()": no spaces, as MindSpore writes

}  // namespace tensorstat
