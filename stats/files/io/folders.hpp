// Folders: made for what is written, and walked for what is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

struct FolderFault {
  std::string folder;  // the first one that could not be made
  int error;           // errno
};

// Makes a folder and those above it that are missing. What is there already is no fault.
std::optional<FolderFault> make_folders(const std::string& folder);

struct FolderEntry {
  std::string path;  // begins with the folder's
  bool is_folder;    // a symbolic link to one is none
  bool is_link;      // a symbolic one
};

// What is in a folder, in the natural order of names (natural_order.hpp). What cannot be listed or looked at,
// such as a folder without permission or a path that is longer than the system takes, is appended to `faults`.
std::vector<FolderEntry> entries_of(const std::string& folder, std::vector<Error>& faults);

// Removes a folder and what is in it, as far as it can. Symbolic links are removed, not followed.
void remove_folder(const std::string& folder) noexcept;

// Appends to `files` every file below `folder` that has the extension of a format of tensors, each level in the
// natural order of names, without those that are read with another (a model's index is taken for its shards). Symbolic
// links to folders are not followed. `faults` are those of entries_of. `other` is told of each file that is not taken.
void find_tensor_files(const std::string& folder, std::vector<std::string>& files, std::vector<Error>& faults,
                       const std::function<void(const std::string& path)>& other = {});

}  // namespace tensorstat
