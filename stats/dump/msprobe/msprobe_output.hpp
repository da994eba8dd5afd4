// msprobe's dump: for each step and rank dump.json, stack.json, construct.json and tensors.
#pragma once

#include <memory>

#include "stats/dump/msprobe/settings.hpp"
#include "stats/dump/output/dump_output.hpp"

namespace tensorstat {

std::shared_ptr<const OutputForm> msprobe_form(MsprobeSettings settings);

}  // namespace tensorstat
