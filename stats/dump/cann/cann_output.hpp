// What CANN's dump leaves for each run of an operator: a csv, or a dump file with its tensors.
#pragma once

#include <memory>

#include "stats/dump/cann/acl_operators.hpp"
#include "stats/dump/output/dump_output.hpp"

namespace tensorstat {

struct CannFolders {
  bool has_model = true;       // not of dump_op_switch: a single operator has none
  bool is_torchairs = false;   // worldsize{W}_global_rank{R} comes first, unless the path ends so
};

std::shared_ptr<const OutputForm> cann_form(std::shared_ptr<const AclOperators> operators, CannFolders folders);

}  // namespace tensorstat
