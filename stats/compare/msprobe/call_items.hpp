// One call of an operator in dump.json, taken apart.
#pragma once

#include <string>
#include <vector>

#include "stats/compare/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

// Its inputs, then parameters, outputs and gradients of parameters; each with its name, and without key and call.
std::vector<Item> items_of_call(const std::string& name, const PythonTree& call);

// The call's name in parts, for counting its runs.
struct CallName {
  std::string stem;        // without direction and number: "Functional.conv2d"
  std::string head, tail;  // the last two parts: "0", "forward"; of gradients none
  bool is_backward = false;
};

// An empty stem: msprobe passes over a call of such a name.
CallName parts_of_call(const std::string& name);

// Whether a call has checksums in the place where msprobe looks for them.
bool has_md5(const PythonTree& call);

}  // namespace tensorstat::msprobe
