// Reads small untrusted files whole.
#pragma once

#include <cstddef>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Reads a regular file of at most `most_bytes`. Checks type and size first, so a pipe without a writer, an endless
// device or a huge file costs no time and no memory. The error has the path and the reason.
Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes);

}  // namespace tensorstat
