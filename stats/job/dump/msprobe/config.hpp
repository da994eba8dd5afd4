// config.json, the config of msprobe.
#pragma once

#include "stats/job/dump/config/config_dialect.hpp"

namespace tensorstat {

extern const ConfigDialect kMsprobeConfig;

}  // namespace tensorstat
