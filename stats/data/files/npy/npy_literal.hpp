// Parses the Python literal in the header of an .npy file, without evaluating it.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

// A dtype as written: a text such as "<f4", or the fields of a structure.
struct NpyType {
  std::string text = {};
  bool is_structure = false;
  std::vector<NpyType> fields = {};
  // Only for fields:
  std::string name = {};  // in the header's encoding
  Shape shape = {};       // the field's own shape; () for a single value
};

struct NpyDictionary {
  NpyType type;
  bool fortran_order = false;
  Shape shape;
};

// The refusal of a file, for everything that reads .npy headers.
Error unreadable_npy(std::string what);

// The error gives the cause and the position. Memory is a small multiple of `text`.
Result<NpyDictionary> parse_npy_literal(std::string_view text);

}  // namespace tensorstat
