// Ranges of a file, one after the other.
#pragma once

#include <memory>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

// The bytes of these ranges, which lie within the file. The first byte of the first range is byte 0.
std::unique_ptr<ByteSource> joined_bytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges);

}  // namespace tensorstat
