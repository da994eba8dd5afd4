// The key `kernels` of data_dump.json as a choice of operators.
#pragma once

#include <memory>

#include "stats/dump/mindspore/operator_filter.hpp"
#include "stats/dump/config/operator_choice.hpp"

namespace tensorstat {

// `key` is what the config calls it: "kernels".
std::shared_ptr<const OperatorChoice> kernel_choice(OperatorFilter kernels, std::string key);

}  // namespace tensorstat
