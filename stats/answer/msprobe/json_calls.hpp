// Reads msprobe's dump.json call by call.
#pragma once

#include <functional>
#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/msprobe/python_value.hpp"

namespace tensorstat::msprobe {

// Receives the members of the object in a JSON file. The members of `data` arrive one at a time, so only one operator
// call is in memory.
struct JsonListener {
  std::function<void(const std::string& name, PythonTree&& value)> member;  // each but data
  std::function<void(const std::string& name, PythonTree&& call)> call;     // a member of data
};

// Accepts NaN, Infinity and -Infinity, as Python does. Errors name the file, line and column.
Status read_json_calls(const std::string& path, const JsonListener& listener);

}  // namespace tensorstat::msprobe
