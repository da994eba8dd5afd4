// The "dump" object of CANN's acl.json. TorchAir's options file has the same object.
#pragma once

#include "stats/job/dump/config/config_dialect.hpp"

namespace tensorstat {

extern const ConfigDialect kAclConfig;

}  // namespace tensorstat
