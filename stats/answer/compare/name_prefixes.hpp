// Finds the prefixes in which the names of two sides differ.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "stats/answer/compare/record.hpp"

namespace tensorstat {

// The line of --names that pairs at least half of the fewer names: "*,module.*" if B has module. before each name of A.
// A prefix ends with `.`, `/` or `:`. Empty if no prefix pairs enough names. If both sides have a prefix, at least two
// names must pair, because a.weight and b.weight alone are too little evidence.
std::string prefix_line(std::span<const std::string_view> a, std::span<const std::string_view> b);

// The outermost calls in the rows of a watch.
struct Outermost {
  std::set<std::string, std::less<>> classes;  // by which they are named
  bool has_module = false;                     // whether a call is named "module"

  // Whether a wrapper around the model, such as DistributedDataParallel, makes the outermost call. The model is then
  // named "module".
  bool is_wrapper() const { return has_module && classes.size() == 1; }
};
Outermost outermost_of(const Record& record);

// The lines of --names between the rows of two watches, if the model is wrapped in one of them alone. The wrapper's
// calls pair with the model's outermost calls. If both or neither is wrapped: "".
std::string wrapper_lines(const Outermost& a, const Outermost& b);

}  // namespace tensorstat
