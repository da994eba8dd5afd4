// A deflated member of an archive as its unpacked bytes, through a window of fixed size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stats/files/io/byte_source.hpp"
#include "stats/files/io/random_file.hpp"

namespace tensorstat {

struct Deflated {
  std::uint64_t offset_bytes = 0, packed_bytes = 0;  // in the file, which holds them
  std::uint64_t bytes = 0;                           // that are due, unpacked
  std::uint32_t crc = 0;                             // of these
};

// What unpacks to more or to fewer bytes than are due, or to others than the checksum says, is an error, at the latest
// when the last byte is read. The error names `label`, which is not escaped. No more is unpacked than is due, and one
// byte to see that there is more.
std::unique_ptr<ByteSource> inflated(std::shared_ptr<const RandomFile> file, std::string label,
                                     const Deflated& deflated);

}  // namespace tensorstat
