// What the elements of an .npy array are, by its dtype.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/files/npy/npy_literal.hpp"

namespace tensorstat {

// The element itself, or one of the fields of a structured dtype.
struct NpyField {
  std::string name = {};          // "outer.inner" of a structure in one; empty where the dtype is no structure
  Dtype dtype = Dtype::kFloat32;  // kBfloat16 for two-byte voids: the file alone cannot say that
  bool is_void = false;           // so the dtype stands only if somebody vouches for it
  bool swapped = false;           // stored in the other byte order than this machine's
  Shape shape = {};               // of the numbers in each element; () is one
  std::uint64_t at_bytes = 0;     // in the element
  std::optional<Error> refusal = {};  // why it has no statistics; what is said above does not count then
};

struct NpyElement {
  std::vector<NpyField> fields;
  std::uint64_t element_bytes = 0;  // paddings between and behind the fields among them
};

// The names are in Latin-1 in headers before version 3.0. An error where it cannot be known how long an element is.
Result<NpyElement> lay_out(const NpyType& type, bool is_latin1);

}  // namespace tensorstat
