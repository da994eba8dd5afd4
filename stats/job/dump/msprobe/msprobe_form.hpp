// The form of msprobe's dumps for a session: its columns, its folders, its output.
#pragma once

#include <memory>

#include "stats/job/dump/msprobe/settings.hpp"
#include "stats/job/dump/output/dump_output.hpp"

namespace tensorstat {

std::shared_ptr<const OutputForm> msprobe_form(MsprobeSettings settings);

}  // namespace tensorstat
