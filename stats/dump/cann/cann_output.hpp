// What CANN's dump leaves: a csv for each run of an operator, in the folders of a model or of a single operator.
#pragma once

#include <memory>

#include "stats/dump/cann/acl_operators.hpp"
#include "stats/dump/dump_output.hpp"

namespace tensorstat {

// `is_single`: of dump_op_switch, whose folders have no model.
std::shared_ptr<const OutputForm> cann_form(std::shared_ptr<const AclOperators> operators, bool is_single);

}  // namespace tensorstat
