// data_dump.json, the config of MindSpore.
#pragma once

#include "stats/job/dump/config/config_dialect.hpp"

namespace tensorstat {

extern const ConfigDialect kMindsporeConfig;

}  // namespace tensorstat
