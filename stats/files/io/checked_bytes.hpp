// The bytes of a file, held to a checksum as far as they are read in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/random_file.hpp"

namespace tensorstat {

// The file, whose `range` has the CRC-32 `crc`. The read that completes the range, every byte of which has been read by
// then, is an error where that is not so; what is never read is not looked at. `label`: for messages.
std::unique_ptr<ByteSource> checked(std::shared_ptr<const RandomFile> file, std::string label, ByteRange range,
                                    std::uint32_t crc);

}  // namespace tensorstat
