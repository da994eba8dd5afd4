// What msprobe's dump leaves: dump.json of each step and rank, stack.json and construct.json beside it, and tensors.
#pragma once

#include <memory>

#include "stats/dump/output/dump_output.hpp"
#include "stats/dump/msprobe/settings.hpp"

namespace tensorstat {

std::shared_ptr<const OutputForm> msprobe_form(MsprobeSettings settings);

}  // namespace tensorstat
