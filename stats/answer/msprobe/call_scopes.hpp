// Where the calls of a dump are in its model, as msprobe's layer mapping sees it.
#pragma once

#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

struct CallScope {
  std::string call;       // "Cell.network.fc1.Dense.forward.0"
  std::string type_name;  // "Dense"
  // The layers around it and its own name: "Cell.network.fc1". An API has the function of the framework that called it
  // before its name.
  std::string scope;
  std::string state;  // "forward", "backward" or "parameters_grad"
};

// The calls in the order of the dump. `path` is its dump.json; stack.json and construct.json lie beside it.
Result<std::vector<CallScope>> scopes_of_calls(const std::string& path, const Dump& dump);

std::vector<std::string> parts_of_name(const std::string& name);  // between dots

}  // namespace tensorstat::msprobe
