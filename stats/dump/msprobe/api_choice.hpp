// Which APIs and modules msprobe's config.json wants.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "stats/dump/msprobe/api_name.hpp"
#include "stats/dump/msprobe/settings.hpp"
#include "stats/dump/config/operator_choice.hpp"

namespace tensorstat {

// By level, direction and list. What a list says of single calls is decided call by call, in the output.
std::shared_ptr<const OperatorChoice> api_choice(const MsprobeSettings& settings, bool wants_forward, bool wants_backward);

// Whether a list wants this key: one of its texts is a part of it.
bool is_listed(std::span<const std::string> list, std::string_view key);

}  // namespace tensorstat
