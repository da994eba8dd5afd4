// Splits one operator call of dump.json into its tensors and arguments.
#pragma once

#include <string>
#include <vector>

#include "stats/answer/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

// Its inputs, then its parameters, outputs and gradients of parameters. Each has its name; key and call are not set.
std::vector<Item> items_of_call(const std::string& name, const PythonTree& call);

// The parts of the call's name, for counting how often it was called.
struct CallName {
  std::string stem;        // without direction and number: "Functional.conv2d"
  std::string head, tail;  // the last two parts: "0", "forward"; empty for gradients
  bool is_backward = false;
};

// The stem is empty if msprobe skips calls with such a name.
CallName parts_of_call(const std::string& name);

// Whether the call has a checksum where msprobe looks for one.
bool has_md5(const PythonTree& call);

}  // namespace tensorstat::msprobe
