// A dump.json of msprobe, call by call.
#pragma once

#include <functional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/compare/msprobe/python_value.hpp"

namespace tensorstat::msprobe {

// Receives the members of a JSON file that holds an object. Only the members of `data` come one by one, so that memory
// holds one call of an operator at a time.
struct JsonListener {
  std::function<void(const std::string& name, PythonTree&& value)> member;  // any but data
  std::function<void(const std::string& name, PythonTree&& call)> call;     // a member of data
};

// Reads with NaN, Infinity and -Infinity, as Python does. The errors name file, line and column.
Status read_json_calls(const std::string& path, const JsonListener& listener);

}  // namespace tensorstat::msprobe
