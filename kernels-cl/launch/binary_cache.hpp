// Compiled kernels on disk, so that a second process starts without compiling. Under
// $XDG_CACHE_HOME/tensorstat, or else ~/.cache/tensorstat; TENSORSTAT_CACHE=0 does without. Nothing here
// is an error: what cannot be read is compiled again, what cannot be written is not kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cl_engine {

using Binary = std::vector<unsigned char>;

// The name of an entry: everything that the binary depends on goes into `text`.
std::string cache_key(std::string_view text);

// Empty when there is no whole entry, of this user's own.
Binary load_binary(const std::string& key);

// Whole or not at all, whoever else writes the same entry at the time.
void store_binary(const std::string& key, const Binary& binary);

}  // namespace tensorstat::cl_engine
