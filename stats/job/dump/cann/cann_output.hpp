// CANN's dump: a csv, or a dump file with the tensors, for each run of an operator.
#pragma once

#include <memory>

#include "stats/job/dump/cann/acl_operators.hpp"
#include "stats/job/dump/output/dump_output.hpp"

namespace tensorstat {

struct CannFolders {
  bool has_model = true;  // false for dump_op_switch: a single operator has no model
  // worldsize{W}_global_rank{R} comes first, unless the path's last folder begins with "worldsize"
  bool is_torchairs = false;
};

std::shared_ptr<const OutputForm> cann_form(std::shared_ptr<const AclOperators> operators, CannFolders folders);

}  // namespace tensorstat
