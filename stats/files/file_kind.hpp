// What a file is that is not read, so that an error can say it.
#pragma once

#include <string_view>

namespace tensorstat {

// "is a GGUF file": by the first bytes of a file, at least 16 of them or all, and by its name. Empty where neither
// tells.
std::string_view kind_of_file(std::string_view head, std::string_view path);

}  // namespace tensorstat
