// The page's sources, as the build has embedded them.
#pragma once

#include <string_view>
#include <vector>

namespace tensorstat::page {

extern const std::string_view kHtml, kStyle;
const std::vector<std::string_view>& scripts();         // one script in pieces, in their order
extern const std::string_view kStyleHash, kScriptHash;  // SHA-256 in hexadecimal

}  // namespace tensorstat::page
