// The elements of an .npy array, from its dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/npy/npy_literal.hpp"

namespace tensorstat {

// The element itself, or one of the fields of a structured dtype.
struct NpyField {
  std::string name = {};              // "outer.inner" for nested structures; empty for a dtype that is not a structure
  Dtype dtype = Dtype::kFloat32;      // kBfloat16 for two-byte voids, which may be anything
  bool is_void = false;               // a two-byte void: `dtype` is valid only if the user says so
  bool swapped = false;               // stored in the other byte order than this machine's
  Shape shape = {};                   // of the numbers in each element; () is one
  std::uint64_t at_bytes = 0;         // offset in the element
  std::optional<Error> refusal = {};  // if set: why it has no statistics; the members above are not valid
};

struct NpyElement {
  std::vector<NpyField> fields;
  std::uint64_t element_bytes = 0;  // including padding between and after the fields
};

// `is_latin1`: names are in Latin-1, as before version 3.0. An error if the size of an element is unknown.
Result<NpyElement> lay_out(const NpyType& type, bool is_latin1);

}  // namespace tensorstat
