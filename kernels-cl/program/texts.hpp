// The kernels' texts, embedded at build time: path in the repository -> content.
#pragma once

#include <map>
#include <string_view>

namespace tensorstat::cl_engine {

const std::map<std::string_view, std::string_view>& texts();

}  // namespace tensorstat::cl_engine
