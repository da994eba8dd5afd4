// Bytes as a page holds them.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

std::string base64(std::string_view bytes);
Result<std::string> deflated(std::string_view bytes);  // with zlib's frame

}  // namespace tensorstat
