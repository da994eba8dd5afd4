// For tests: zip archives made by hand. Each field may be wrong.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::test {

inline std::string little(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> 8 * i & 0xff);
  return text;
}

inline std::string deflated(std::string_view bytes) {
  z_stream stream = {};
  ::deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

struct ZipEntry {
  std::string name, packed;  // packed: the bytes in the archive
  std::uint64_t bytes = 0;   // unpacked
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
  std::string extra = {}, local_extra = {};    // written unchanged
  std::uint64_t packed_bytes = packed.size();  // the size in the directory
  std::string local_name = name;               // the name in the member's own header
  std::uint64_t offset = ~std::uint64_t{0};    // of that header; the default is the real offset
};

inline ZipEntry zip_entry(const std::string& name, std::string_view bytes, bool deflate = false) {
  const auto crc = static_cast<std::uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
  return {.name = name,
          .packed = deflate ? deflated(bytes) : std::string(bytes),
          .bytes = bytes.size(),
          .crc = crc,
          .method = static_cast<std::uint16_t>(deflate ? 8 : 0)};
}

struct ZipParts {
  std::string members, directory;
  std::uint64_t entries = 0;
};

inline ZipParts zip_parts(const std::vector<ZipEntry>& entries) {
  ZipParts parts;
  for (const ZipEntry& each : entries) {
    const bool is_set = each.offset != ~std::uint64_t{0};
    const std::uint64_t offset = is_set ? each.offset : parts.members.size();
    const std::string common = little(20, 2) + little(each.flags, 2) + little(each.method, 2) + little(0, 4) +
                               little(each.crc, 4) + little(each.packed_bytes, 4) + little(each.bytes, 4);
    parts.members += "PK\3\4" + common + little(each.local_name.size(), 2) + little(each.local_extra.size(), 2) +
                     each.local_name + each.local_extra + each.packed;
    parts.directory += "PK\1\2" + little(20, 2) + common + little(each.name.size(), 2) + little(each.extra.size(), 2) +
                       little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + little(offset, 4) + each.name +
                       each.extra;
    ++parts.entries;
  }
  return parts;
}

// The end record of an archive.
inline std::string zip_end(std::uint64_t entries, std::uint64_t directory_bytes, std::uint64_t directory_at,
                           const std::string& comment = "") {
  return "PK\5\6" + little(0, 4) + little(entries, 2) + little(entries, 2) + little(directory_bytes, 4) +
         little(directory_at, 4) + little(comment.size(), 2) + comment;
}

inline std::string zip_archive(const std::vector<ZipEntry>& entries, const std::string& comment = "") {
  const ZipParts parts = zip_parts(entries);
  return parts.members + parts.directory +
         zip_end(parts.entries, parts.directory.size(), parts.members.size(), comment);
}

// The ZIP64 record and its locator. `record_at` is the offset of the record.
inline std::string zip_end64(std::uint64_t entries, std::uint64_t directory_bytes, std::uint64_t directory_at,
                             std::uint64_t record_at, const std::string& magic = "PK\6\6") {
  return magic + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(entries, 8) +
         little(entries, 8) + little(directory_bytes, 8) + little(directory_at, 8) + "PK\6\7" + little(0, 4) +
         little(record_at, 8) + little(1, 4);
}

}  // namespace tensorstat::test
