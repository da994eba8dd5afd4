// Reads lines of alerts.ndjson, which are not trusted.
#pragma once

#include <string_view>
#include <tensorstat/alerts.hpp>
#include <tensorstat/status.hpp>

namespace tensorstat {

// The alert of one line, as to_json() wrote it, without its history.
Result<Alert> alert_from(std::string_view line);

}  // namespace tensorstat
