// Compiled kernels on disk, so that a second process starts without compiling. Under
// $XDG_CACHE_HOME/tensorstat, or else ~/.cache/tensorstat; TENSORSTAT_CACHE=0 does without. Nothing here
// is an error: what cannot be read is compiled again, what cannot be written is not kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cl_engine {

using Binary = std::vector<unsigned char>;

// The name of an entry: the SHA-256 of `text`, into which everything goes that the binary depends on. Empty where
// OpenSSL has no SHA-256: then nothing is kept.
std::string cache_key(std::string_view text);

// Empty when there is no whole entry that this user wrote under this key: each entry holds its key, its length and a
// digest of itself. Only a regular file of at most 64 MiB is read; nothing else that lies there is waited for.
Binary load_binary(const std::string& key);

// The entry is written whole or not at all, whoever else writes the same entry at the time. What killed processes left
// unfinished is removed.
void store_binary(const std::string& key, const Binary& binary);

}  // namespace tensorstat::cl_engine
