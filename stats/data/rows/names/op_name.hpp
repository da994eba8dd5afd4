// Operator names as MindSpore writes them in files.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

// Replaces each / \ . and space by _, as in npy file names and in the rows of MindSpore up to 2.7. Not reversible.
inline std::string escaped_op_name(std::string_view full_scope_name) {
  std::string escaped(full_scope_name);
  for (char& c : escaped) {
    if (c == '/' || c == '\\' || c == '.' || c == ' ') c = '_';
  }
  return escaped;
}

// ASCII letters only: std::tolower follows the locale.
inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace tensorstat
