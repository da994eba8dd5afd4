// Makes folders, lists them and searches them for files of tensors.
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

// Makes a folder and its missing parents. Succeeds if the folder exists.
std::optional<FolderFault> make_folders(const std::string& folder);

struct FolderEntry {
  std::string path;  // with the folder in front
  bool is_folder;    // false for a symbolic link to a folder
  bool is_link;      // a symbolic link
};

// The entries of a folder, in the natural order of names (natural_order.hpp). Errors are appended to `faults`, such as
// a folder without permission or a path that is too long.
std::vector<FolderEntry> entries_of(const std::string& folder, std::vector<Error>& faults);

// Removes a folder and its content as far as possible. Symbolic links are removed, not followed.
void remove_folder(const std::string& folder) noexcept;

// Appends to `files` every file of tensors below `folder`, by its name or its first bytes, each level in the natural
// order of names. Files that are parts of another one are omitted: a model's index stands for its shards. Symbolic
// links to folders are not followed. Appends to `faults` as entries_of does. Calls `other` for each other file.
void find_tensor_files(const std::string& folder, std::vector<std::string>& files, std::vector<Error>& faults,
                       const std::function<void(const std::string& path)>& other = {});

}  // namespace tensorstat
