// Tensors of every dtype that are hard to sum. Tests of numeric properties use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <vector>

namespace samples {

using Random = std::mt19937_64;

// A name for messages, and a function that makes `count` elements of a dtype in host byte order.
struct Distribution {
  std::string_view name;
  std::vector<std::byte> (*make)(tensorstat::Dtype dtype, std::size_t count, Random& random);
};

// The distributions for the dtype. All randomness comes from `random`: a seed gives the same tensor on every machine.
std::span<const Distribution> of(tensorstat::Dtype dtype);

// The distribution with this number. For a complex dtype both parts have it.
std::vector<std::byte> one_of(tensorstat::Dtype dtype, std::size_t number, std::size_t count, Random& random);

// From 0 to 65,537 elements, around the widths of vectors, work-groups and units of work.
std::span<const std::size_t> awkward_counts();

std::vector<tensorstat::Dtype> all_dtypes();    // real dtypes with at least one byte per element
std::vector<tensorstat::Dtype> whole_dtypes();  // all_dtypes() and the complex ones
// the dtypes of all_dtypes() that a device counts and compares without unpacking
std::vector<tensorstat::Dtype> plain_dtypes();
std::vector<tensorstat::Dtype> packed_dtypes();  // dtypes with several elements per byte

// Whether TENSORSTAT_FULL asks for the long versions of the tests.
bool full();

// True for one dtype of each family. The quick tests of the kernels' shapes take its kernels for the whole family's.
bool stands_for_its_family(tensorstat::Dtype dtype);

// Whether the tests build kernels of the dtype: in the full run for all dtypes, in the quick run for one of most
// families. device_shapes_test builds all of them in both, in the device's own shape.
bool is_built_on_a_device(tensorstat::Dtype dtype);
std::vector<tensorstat::Dtype> dtypes_on_a_device();  // from all_dtypes()

// True in a quick run that forces a device without fp64, for a dtype with kernels that need no fp64. The run with fp64
// tests these kernels.
bool is_tried_with_fp64(tensorstat::Dtype dtype);

// TENSORSTAT_SEED, or a fixed seed. It is printed, so that a failure can be reproduced.
std::uint64_t seed();

// Bytes at a chosen distance from an aligned address.
class Misaligned {
 public:
  Misaligned(std::span<const std::byte> bytes, std::size_t offset);
  const std::byte* data() const { return &storage_[begin_]; }

 private:
  std::vector<std::byte> storage_;
  std::size_t begin_;
};

}  // namespace samples
