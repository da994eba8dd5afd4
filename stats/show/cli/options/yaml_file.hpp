// A YAML file that the caller names, such as msprobe's mapping files. Needs libyaml at build time.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

#include "stats/answer/msprobe/python_value.hpp"

namespace tensorstat::cli {

// The content: dicts and lists of texts. Scalars stay as they are written, except null, ~ and nothing, which are None.
// If a dict has a name twice, the last value counts, as in Python. Errors: the file cannot be read, is larger than 16
// MiB, is not valid YAML (with the line), or has aliases, tags, several documents or more than 32 levels. kUnsupported:
// this build has no libyaml.
Result<msprobe::PythonTree> read_yaml(const std::string& path);

}  // namespace tensorstat::cli
