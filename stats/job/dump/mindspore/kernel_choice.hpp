// The key `kernels` of data_dump.json as an OperatorChoice.
#pragma once

#include <memory>

#include "stats/job/dump/config/operator_choice.hpp"
#include "stats/job/dump/mindspore/operator_filter.hpp"

namespace tensorstat {

// `key` is the name of the key in the config: "kernels".
std::shared_ptr<const OperatorChoice> kernel_choice(OperatorFilter kernels, std::string key);

}  // namespace tensorstat
