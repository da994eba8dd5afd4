// Checks the CRC-32 of bytes that are read in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

// A source of the file's bytes. `crc` is the expected CRC-32 of `range`. When every byte of the range has been read in
// order, the read that completes it returns an error if the CRC differs. If bytes are skipped, nothing is checked.
// `label` is for messages.
std::unique_ptr<ByteSource> checked(std::shared_ptr<const RandomFile> file, std::string label, ByteRange range,
                                    std::uint32_t crc);

}  // namespace tensorstat
