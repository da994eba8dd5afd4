// Files are written under a hidden name and renamed when they are complete. A killed process leaves hidden files
// behind.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

inline constexpr std::string_view kUnfinishedPrefix = ".new-";

// Whether a name is kUnfinishedPrefix, digits and dots (a process, a number), and then `ending`.
bool is_unfinished_name(std::string_view name, std::string_view ending);

// Removes hidden files that no process is writing any more. A writer holds a lock (flock) on its file. Nothing is
// removed if the file system has no locks or `folder` is a symbolic link. Files of other users are kept.
void remove_unfinished_files(const std::string& folder) noexcept;

}  // namespace tensorstat
