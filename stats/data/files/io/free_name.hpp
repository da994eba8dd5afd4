// Gives a file a name that no file has.
#pragma once

#include <string>

namespace tensorstat {

// Moves a file to a free name of the same file system. Returns 0 or errno: EEXIST if the name is taken; then that file
// is unchanged. Another process never sees part of the file. On a file system that has neither RENAME_NOREPLACE nor
// hard links, such as some of FUSE, an empty file holds the name for a moment.
int move_to_free_name(const std::string& from, const std::string& to);

}  // namespace tensorstat
