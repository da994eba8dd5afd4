#include "stats/data/files/zip/zip_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kEndBytes = 22, kMostCommentBytes = 65'535, kLocatorBytes = 20, kEnd64Bytes = 56;
constexpr std::uint64_t kEnd64SizeEnds = 12;  // the record's size counts the bytes behind this one
constexpr std::uint64_t kEntryBytes = 46, kHeaderBytes = 30, kMostDirectoryBytes = 100'000'000;
constexpr std::string_view kEndMagic = "PK\5\6", kLocatorMagic = "PK\6\7", kEnd64Magic = "PK\6\6",
                           kEntryMagic = "PK\1\2", kHeaderMagic = "PK\3\4";

Error damaged(const RandomFile& file, const std::string& what) {
  return {Code::kUnreadable, printable(file.path()) + ": " + what};
}

constexpr std::string_view kManyArchives =
    ": it was cut, or is several archives one behind another, which are not read: split it first";

std::string who(const ZipMember& member) { return "member " + in_quotes(member.name); }

// The little-endian number of `bytes` bytes at `offset`. The caller has checked that they exist.
std::uint64_t number_at(std::string_view text, std::size_t offset, std::size_t bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    number |= std::uint64_t{static_cast<unsigned char>(text[offset + i])} << 8 * i;
  return number;
}

// The caller has checked that the bytes exist.
Result<std::string> text_at(const RandomFile& file, std::uint64_t offset_bytes, std::size_t bytes) {
  std::string text(bytes, '\0');
  if (Status read = file.read_at(offset_bytes, std::as_writable_bytes(std::span(text))); !read) return read.error();
  return text;
}

struct Directory {
  std::uint64_t offset_bytes = 0, bytes = 0, entries = 0;
  std::uint64_t end = 0;  // the beginning of the records that describe the directory
};

// Reads ZIP64's record through its locator, which would be at `locator_at`; nullopt without a locator.
Result<std::optional<Directory>> directory64(const RandomFile& file, std::uint64_t locator_at) {
  const auto locator = text_at(file, locator_at, kLocatorBytes);
  if (!locator) return locator.error();
  if (!locator->starts_with(kLocatorMagic)) return std::optional<Directory>();
  const std::uint64_t record_at = number_at(*locator, 8, 8);
  if (locator_at < kEnd64Bytes || record_at > locator_at - kEnd64Bytes) {
    return damaged(file,
                   "its ZIP64 record would begin at byte " + std::to_string(record_at) + ", where no record can be");
  }
  const auto record = text_at(file, record_at, kEnd64Bytes);
  if (!record) return record.error();
  // The record ends where the locator begins (APPNOTE 4.3.6). Of archives one behind another, the last one's locator
  // may point at a record of another archive, as its offsets count from its own beginning.
  const bool is_record = record->starts_with(kEnd64Magic);
  if (!is_record || number_at(*record, 4, 8) != locator_at - record_at - kEnd64SizeEnds) {
    return damaged(file, "has no ZIP64 record where its locator says" + std::string(kManyArchives));
  }
  if (number_at(*record, 16, 4) != 0 || number_at(*record, 20, 4) != 0 ||
      number_at(*record, 24, 8) != number_at(*record, 32, 8)) {
    return damaged(file, "is a part of an archive of several files");
  }
  const std::uint64_t entries = number_at(*record, 32, 8);
  return std::optional(Directory{number_at(*record, 48, 8), number_at(*record, 40, 8), entries, record_at});
}

Result<Directory> find_directory(const RandomFile& file) {
  const std::uint64_t size = file.size_bytes();
  if (size < kEndBytes) return damaged(file, "is too short for a zip archive, such as .npz");
  const std::uint64_t tail_bytes = std::min(size, kEndBytes + kMostCommentBytes);
  const auto tail = text_at(file, size - tail_bytes, tail_bytes);
  if (!tail) return tail.error();
  // The record's comment fills the rest of the file.
  std::size_t offset = tail_bytes - kEndBytes;
  while (tail->compare(offset, 4, kEndMagic) != 0 ||
         number_at(*tail, offset + 20, 2) != tail_bytes - offset - kEndBytes) {
    if (offset-- == 0) return damaged(file, "has no end of a zip archive: it was cut short, or is still being written");
  }
  const std::uint64_t end = size - tail_bytes + offset;
  if (end >= kLocatorBytes) {
    const auto wide = directory64(file, end - kLocatorBytes);
    if (!wide) return wide.error();
    if (*wide) return **wide;
  }
  if (number_at(*tail, offset + 4, 2) != 0 || number_at(*tail, offset + 6, 2) != 0 ||
      number_at(*tail, offset + 8, 2) != number_at(*tail, offset + 10, 2)) {
    return damaged(file, "is a part of an archive of several files");
  }
  return Directory{number_at(*tail, offset + 16, 4), number_at(*tail, offset + 12, 4), number_at(*tail, offset + 10, 2),
                   end};
}

// If a field of 32 bits is all ones, its number is in ZIP64's extra field, which has these numbers in the order of the
// fields.
Status widen(const RandomFile& file, std::string_view extra, ZipMember& member) {
  constexpr std::uint64_t kFull = 0xffffffff;
  std::uint64_t* const numbers[] = {&member.bytes, &member.packed_bytes, &member.header_offset_bytes};
  if (std::ranges::none_of(numbers, [](const std::uint64_t* each) { return *each == kFull; })) return {};
  while (extra.size() >= 4) {
    const std::uint64_t id = number_at(extra, 0, 2), length = number_at(extra, 2, 2);
    if (length > extra.size() - 4) break;
    if (id != 1) {
      extra.remove_prefix(4 + length);
      continue;
    }
    std::string_view rest = extra.substr(4, length);
    for (std::uint64_t* number : numbers) {
      if (*number != kFull) continue;
      if (rest.size() < 8) return damaged(file, who(member) + " has a short ZIP64 field");
      *number = number_at(rest, 0, 8);
      rest.remove_prefix(8);
    }
    return {};
  }
  return damaged(file, who(member) + " has no ZIP64 field, which it needs");
}

// An error if members overlap each other or the directory.
Status check_places(const RandomFile& file, const std::vector<ZipMember>& members, std::uint64_t directory_at) {
  std::vector<const ZipMember*> in_order;
  for (const ZipMember& member : members) in_order.push_back(&member);
  std::ranges::sort(in_order, {}, [](const ZipMember* member) { return member->header_offset_bytes; });
  std::uint64_t begin = 0;
  for (const ZipMember* member : in_order) {
    if (member->header_offset_bytes < begin) return damaged(file, who(*member) + " overlaps the one before it");
    const std::uint64_t least = kHeaderBytes + member->name.size();
    if (directory_at < least || member->header_offset_bytes > directory_at - least ||
        member->packed_bytes > directory_at - least - member->header_offset_bytes) {
      return damaged(file, who(*member) + " of " + std::to_string(member->packed_bytes) + " bytes at byte " +
                               std::to_string(member->header_offset_bytes) +
                               " does not fit before the directory at byte " + std::to_string(directory_at));
    }
    begin = member->header_offset_bytes + least + member->packed_bytes;
  }
  if (!in_order.empty() && in_order.front()->header_offset_bytes != 0) {
    return damaged(file, "has " + std::to_string(in_order.front()->header_offset_bytes) +
                             " bytes in front of its first member" + std::string(kManyArchives));
  }
  return {};
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(const RandomFile& file) {
  const auto directory = find_directory(file);
  if (!directory) return directory.error();
  if (directory->offset_bytes > directory->end || directory->bytes != directory->end - directory->offset_bytes) {
    return damaged(file, "its directory of " + std::to_string(directory->bytes) + " bytes at byte " +
                             std::to_string(directory->offset_bytes) + " does not end at byte " +
                             std::to_string(directory->end) + std::string(kManyArchives));
  }
  if (directory->bytes > kMostDirectoryBytes) {
    return damaged(file,
                   "its directory has " + std::to_string(directory->bytes) + " bytes; at most 100000000 are allowed");
  }
  if (directory->entries > directory->bytes / kEntryBytes) {
    return damaged(file, "its directory of " + std::to_string(directory->bytes) + " bytes cannot hold " +
                             std::to_string(directory->entries) + " members");
  }
  const auto text = text_at(file, directory->offset_bytes, directory->bytes);
  if (!text) return text.error();
  std::vector<ZipMember> members;
  members.reserve(directory->entries);
  std::string_view rest = *text;
  for (std::uint64_t i = 0; i < directory->entries; ++i) {
    if (rest.size() < kEntryBytes || !rest.starts_with(kEntryMagic)) {
      return damaged(file, "has a damaged directory at its entry " + std::to_string(i + 1));
    }
    const std::uint64_t name_bytes = number_at(rest, 28, 2), extra_bytes = number_at(rest, 30, 2);
    const std::uint64_t all_bytes = kEntryBytes + name_bytes + extra_bytes + number_at(rest, 32, 2);
    if (all_bytes > rest.size()) return damaged(file, "has a damaged directory at its entry " + std::to_string(i + 1));
    ZipMember member{.name = std::string(rest.substr(kEntryBytes, name_bytes)),
                     .method = static_cast<std::uint16_t>(number_at(rest, 10, 2)),
                     .encrypted = (number_at(rest, 8, 2) & 1) != 0,
                     .crc = static_cast<std::uint32_t>(number_at(rest, 16, 4)),
                     .packed_bytes = number_at(rest, 20, 4),
                     .bytes = number_at(rest, 24, 4),
                     .header_offset_bytes = number_at(rest, 42, 4)};
    const std::string_view extra = rest.substr(kEntryBytes + name_bytes, extra_bytes);
    if (Status wide = widen(file, extra, member); !wide) return wide.error();
    members.push_back(std::move(member));
    rest.remove_prefix(all_bytes);
  }
  if (!rest.empty()) {
    return damaged(file, "has " + std::to_string(rest.size()) + " bytes in its directory that are no entry");
  }
  if (Status placed = check_places(file, members, directory->offset_bytes); !placed) return placed.error();
  return members;
}

Result<std::uint64_t> zip_data_offset(const RandomFile& file, const ZipMember& member) {
  const auto header = text_at(file, member.header_offset_bytes, kHeaderBytes + member.name.size());
  if (!header) return header.error();
  const bool is_same = header->starts_with(kHeaderMagic) && number_at(*header, 8, 2) == member.method &&
                       number_at(*header, 26, 2) == member.name.size() && header->substr(kHeaderBytes) == member.name;
  if (!is_same) return damaged(file, who(member) + " has a header that contradicts the directory of the archive");
  const std::uint64_t offset_bytes =
      member.header_offset_bytes + kHeaderBytes + member.name.size() + number_at(*header, 28, 2);
  // All members lie before the directory, so the file's size is a bound, though not the tightest.
  if (offset_bytes > file.size_bytes() || member.packed_bytes > file.size_bytes() - offset_bytes) {
    return damaged(file, who(member) + " does not fit into the archive");
  }
  return offset_bytes;
}

}  // namespace tensorstat
