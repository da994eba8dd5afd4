// Files that are written under a hidden name, and get their own when all of them is there. A process that is killed
// meanwhile leaves the hidden one.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

inline constexpr std::string_view kUnfinishedPrefix = ".new-";

// Removes the hidden files of a folder that nobody writes any more: whoever writes one holds a lock (flock) on it.
// Where the file system knows no locks, all stay. So do those of other users, and all where `folder` is a symbolic
// link.
void remove_unfinished_files(const std::string& folder) noexcept;

}  // namespace tensorstat
