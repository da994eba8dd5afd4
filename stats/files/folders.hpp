// Folders: made for what is written, and walked for what is read.
#pragma once

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

// Appends to `files` every *.npy below `folder`, each level in the order of names. Symbolic links to folders are not
// followed. What cannot be listed or looked at, such as a folder without permission or a path that is longer
// than the system takes, is appended to `faults`.
void find_npy_files(const std::string& folder, std::vector<std::string>& files, std::vector<Error>& faults);

}  // namespace tensorstat
