// Compiled kernels on disk, so that a second process starts without compiling. Under
// $XDG_CACHE_HOME/tensorstat, or else ~/.cache/tensorstat; TENSORSTAT_CACHE=0 does without. Nothing here
// is an error: what cannot be read is compiled again, what cannot be written is not kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cl_engine {

using Binary = std::vector<unsigned char>;

// An entry's key is a text into which everything goes that the binary depends on. This is the name of its file. Two
// keys may have one name: then each takes the other's place, and neither is used for the other.
std::string entry_name(std::string_view key);

// Empty when there is no whole entry that this user wrote under this key: each entry holds its key, and a checksum
// against damage. Only a regular file of at most 64 MiB is read; nothing else that lies there is waited for.
Binary load_binary(std::string_view key);

// The entry is written whole or not at all, whoever else writes the same entry at the time. What killed processes left
// unfinished is removed.
void store_binary(std::string_view key, const Binary& binary);

}  // namespace tensorstat::cl_engine
