// Compiled kernels on disk, so that a second process starts without compiling. They are below
// $XDG_CACHE_HOME/tensorstat, or else ~/.cache/tensorstat; TENSORSTAT_CACHE=0 turns the cache off. Nothing here is an
// error: a kernel that cannot be read is compiled again, and one that cannot be written is not kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cl_engine {

using Binary = std::vector<unsigned char>;

// The file name of the entry with this key. A key is a text with everything that the binary depends on. Two keys may
// have the same name: then the later entry replaces the earlier one. Neither is used for the other key.
std::string entry_name(std::string_view key);

// Empty if there is no whole entry that this user wrote under this key. An entry holds its key, and a checksum against
// damage. Only a regular file of at most 64 MiB is read. This never waits for a pipe or a device.
Binary load_binary(std::string_view key);

// Writes the entry whole or not at all, even if others write the same entry at that time. Also removes the unfinished
// files of killed processes.
void store_binary(std::string_view key, const Binary& binary);

}  // namespace tensorstat::cl_engine
