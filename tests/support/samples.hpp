// Tensors that are hard to sum, of every dtype: what the properties of the numbers are tried on.
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

// A name for messages, and a function that gives `count` elements of a dtype in host byte order.
struct Distribution {
  std::string_view name;
  std::vector<std::byte> (*make)(tensorstat::Dtype dtype, std::size_t count, Random& random);
};

// All that suit the dtype. Each takes everything from `random`: a seed gives one tensor everywhere.
std::span<const Distribution> of(tensorstat::Dtype dtype);

// One of them, by its number; of a complex dtype both parts have it.
std::vector<std::byte> one_of(tensorstat::Dtype dtype, std::size_t number, std::size_t count, Random& random);

// 0 to 65,537 elements, around every width that a vector, a group or a unit of work may have.
std::span<const std::size_t> awkward_counts();

std::vector<tensorstat::Dtype> all_dtypes();  // real ones, of which an element has bytes of its own
std::vector<tensorstat::Dtype> whole_dtypes();  // the same, and complex ones
std::vector<tensorstat::Dtype> plain_dtypes();  // of these, whose bytes are what a device counts and compares
std::vector<tensorstat::Dtype> packed_dtypes();  // of which several share a byte

// TENSORSTAT_FULL asks for the long versions of the tests.
bool full();

// Of each family, the one dtype whose kernels stand for the others' where a quick run can build but a few.
bool stands_for_its_family(tensorstat::Dtype dtype);

// Whether this run builds kernels of the dtype: in full of every dtype, quick of one a family. device_shapes has all of
// them in either, in the device's own shape.
bool is_built_on_a_device(tensorstat::Dtype dtype);
std::vector<tensorstat::Dtype> dtypes_on_a_device();  // those of all_dtypes()

// Whether this is a quick run that forces a device without fp64, on a dtype whose kernels use none: those are tried with it.
bool is_tried_with_fp64(tensorstat::Dtype dtype);

// TENSORSTAT_SEED, or one fixed for all time; printed, so that a failure can be had again.
std::uint64_t seed();

// Bytes at a chosen distance from an address that every vector likes.
class Misaligned {
 public:
  Misaligned(std::span<const std::byte> bytes, std::size_t offset);
  const std::byte* data() const { return &storage_[begin_]; }

 private:
  std::vector<std::byte> storage_;
  std::size_t begin_;
};

}  // namespace samples
