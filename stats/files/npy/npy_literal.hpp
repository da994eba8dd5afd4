// The Python literal in the header of an .npy file, taken apart and not evaluated.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

// A dtype as it is written: a text such as "<f4", or a structure's fields.
struct NpyType {
  std::string text = {};
  bool is_structure = false;
  std::vector<NpyType> fields = {};
  // Of a field:
  std::string name = {};  // as the header encodes it
  Shape shape = {};       // of the values that it holds in each element; () is one
};

struct NpyDictionary {
  NpyType type;
  bool fortran_order = false;
  Shape shape;
};

// The refusal of a file, for everything that reads .npy headers.
Error unreadable_npy(std::string what);

// The error says what is wrong, and where. Memory taken is a small multiple of `text`.
Result<NpyDictionary> parse_npy_literal(std::string_view text);

}  // namespace tensorstat
