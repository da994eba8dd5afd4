// The "dump" object of CANN's acl.json, which TorchAir's options file has too.
#pragma once

#include "stats/dump/config/config_dialect.hpp"

namespace tensorstat {

extern const ConfigDialect kAclConfig;

}  // namespace tensorstat
