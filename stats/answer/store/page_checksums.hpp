// A checksum in each page of an SQLite file, looked at whenever a page is read: one flipped bit is an error. It lies in
// the last 8 bytes of a page, which SQLite reserves, in the form of SQLite's extension cksumvfs (ext/misc/cksumvfs.c).
// Programs without it read the file as any other. What they write has no checksum.
#pragma once

#include <tensorstat/status.hpp>

struct sqlite3;

namespace tensorstat {

enum class PageChecksums : unsigned char {
  kLooked,   // the file has them, and each page that is read is looked at
  kAbsent,   // the file reserves no room for them
  kNewFile,  // the file is empty
};

// Call on a new connection, before it reads a page. With `makes_them`, an empty file gets checksums, and kLooked is
// returned.
PageChecksums look_at_page_checksums(sqlite3* connection, bool makes_them);

// Whether sqlite3_extended_errcode() reports a page that does not match its checksum.
bool is_of_page_checksum(int extended_code);

}  // namespace tensorstat
