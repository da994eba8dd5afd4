// Reads the members of an untrusted zip archive from its central directory, including ZIP64. Format:
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

struct ZipMember {
  std::string name;  // any bytes; never used as a path
  std::uint16_t method = 0;
  bool encrypted = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0;  // size in the archive, and unpacked
  std::uint64_t header_offset_bytes = 0;

  bool is_plain() const;  // its bytes lie in the archive as they are
};

inline constexpr std::uint16_t kZipStored = 0, kZipDeflated = 8;
inline bool ZipMember::is_plain() const { return !encrypted && method == kZipStored && bytes == packed_bytes; }

// The members in the order of the directory. The first member must begin the file, the directory must end it, and
// members must not overlap: several archives one behind another are an error, and so is one that names the same packed
// bytes a thousand times. Memory is a small multiple of the directory, which may have 100,000,000 bytes. Errors name
// the file.
Result<std::vector<ZipMember>> zip_members(const RandomFile& file);

// The offset of the member's packed bytes. An error if the member's own header contradicts the directory.
Result<std::uint64_t> zip_data_offset(const RandomFile& file, const ZipMember& member);

}  // namespace tensorstat
