// Operator names as MindSpore puts them in files.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

// The full scope name with / \ . and space each replaced by _, as in npy file names and in the
// rows of MindSpore up to 2.7. Not reversible.
inline std::string escaped_op_name(std::string_view full_scope_name) {
  std::string escaped(full_scope_name);
  for (char& c : escaped) {
    if (c == '/' || c == '\\' || c == '.' || c == ' ') c = '_';
  }
  return escaped;
}

}  // namespace tensorstat
