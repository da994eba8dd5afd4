// Finds files of rows in paths that a user gives.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat {

// Whether a file that the user named holds rows and not tensors.
bool is_row_file(const std::string& path);

// Whether a search through folders takes a file with this name as a file of rows.
bool has_name_of_rows(const std::string& path);

// A file of rows, and its folder relative to the path that the user gave.
struct RowFile {
  std::string path, folder;
};

// The files of rows among these paths and in these folders at any depth: statistic.csv, dump.json, and names such as
// CANN's. In the natural order of their names.
std::vector<RowFile> find_row_files(const std::vector<std::string>& paths, std::vector<Error>& faults);

// Appends each item of `more` that `list` does not contain.
template <typename Item>
void add_once(std::vector<Item>& list, const std::vector<Item>& more) {
  for (const Item& item : more) {
    bool is_had = false;
    for (const Item& each : list) is_had |= each == item;
    if (!is_had) list.push_back(item);
  }
}

}  // namespace tensorstat
