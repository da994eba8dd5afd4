// The APIs and modules that msprobe's config.json selects.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stats/job/dump/config/operator_choice.hpp"
#include "stats/job/dump/msprobe/api_name.hpp"
#include "stats/job/dump/msprobe/settings.hpp"

namespace tensorstat {

// Selects by level, direction and list. If a list names single calls, the output decides for each call.
std::shared_ptr<const OperatorChoice> api_choice(const MsprobeSettings& settings, bool wants_forward,
                                                 bool wants_backward);

// Whether any text of the list is a substring of this key.
bool is_listed(std::span<const std::string> list, std::string_view key);

}  // namespace tensorstat
