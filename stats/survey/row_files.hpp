// Files of rows among what a user names.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat {

// Whether a file that was named is one of rows, and not of tensors.
bool is_row_file(const std::string& path);

// Whether a walk through folders takes a file of this name for one of rows.
bool has_name_of_rows(const std::string& path);

// A file of rows, and the folder it lies in, relative to what was named.
struct RowFile {
  std::string path, folder;
};

// The files of rows that these paths are, or hold at any depth: statistic.csv, dump.json, and names such as CANN's. In
// the natural order of their names.
std::vector<RowFile> find_row_files(const std::vector<std::string>& paths, std::vector<Error>& faults);

// Appends what `list` does not have.
template <typename Item>
void add_once(std::vector<Item>& list, const std::vector<Item>& more) {
  for (const Item& item : more) {
    bool is_had = false;
    for (const Item& each : list) is_had |= each == item;
    if (!is_had) list.push_back(item);
  }
}

}  // namespace tensorstat
