// Small files, read whole and without trust.
#pragma once

#include <cstddef>
#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat {

// The bytes of a regular file of at most `most_bytes`. Its kind and its size are judged before a byte is read, so
// that a pipe without a writer, an endless device or a huge file costs neither time nor memory. An error names
// the path and says what is wrong with it.
Result<std::string> read_whole_file(const std::string& path, std::size_t most_bytes);

}  // namespace tensorstat
