// A value of a statistic in JSON.
#pragma once

#include <string>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

// JSON has no NaN and no Inf: they are strings, as digests are, and what does not exist is null.
std::string json_of(const Value& value);

}  // namespace tensorstat
