// Unpacks a member of an archive through a window of fixed size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/packed/unpacker.hpp"

namespace tensorstat {

struct Packed {
  Packing packing = Packing::kDeflate;               // one that is a stream
  std::uint64_t offset_bytes = 0, packed_bytes = 0;  // in the file; the range must lie within it
  std::uint64_t bytes = 0;                           // expected size, unpacked
  std::uint32_t crc = 0;                             // expected CRC-32 of the unpacked bytes
};

// An error if the unpacked size or the checksum differs from the expected one, at the latest when the last byte is
// read. The error names `label`, which is not escaped. Unpacks at most one byte more than expected, to detect excess
// data.
std::unique_ptr<ByteSource> unpacked(std::shared_ptr<const RandomFile> file, std::string label, const Packed& packed);

}  // namespace tensorstat
