// The members of a zip archive, read without trust from its central directory; ZIP64 too.
// Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/files/io/random_file.hpp"

namespace tensorstat {

struct ZipMember {
  std::string name;  // any bytes; never a path to be opened
  std::uint16_t method = 0;
  bool encrypted = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0;  // as stored in the archive, and unpacked
  std::uint64_t header_offset_bytes = 0;
};

inline constexpr std::uint16_t kZipStored = 0, kZipDeflated = 8;

// In the order of the directory. It lies at the end of the file, the members before it, and none overlaps another:
// an archive in which bytes are packed once and named a thousand times is refused. Memory taken is a small multiple of
// the directory, which is refused above 100,000,000 bytes. The errors name the file.
Result<std::vector<ZipMember>> zip_members(const RandomFile& file);

// Where the packed bytes of the member begin; its own header has to agree with the directory.
Result<std::uint64_t> zip_data_offset(const RandomFile& file, const ZipMember& member);

}  // namespace tensorstat
