// Finds files of rows in paths that a user gives.
#pragma once

#include <string>
#include <tensorstat/rows.hpp>
#include <unordered_map>
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
// CANN's. In the natural order of their names. A step that is in several events of a run is found in the first of them
// that has most of its rows: a disk may have been full.
std::vector<RowFile> find_row_files(const std::vector<std::string>& paths, std::vector<Error>& faults);

// An event of alerts holds the steps before it, so a step may be in several events of a run.
class EventSteps {
 public:
  // Whether this file has the rows of one that was asked about before: the same step of the same run, in another event
  // below the path that the user gave. One of the two may still be written.
  bool has(const RowFile& file) { return same_as(file) != nullptr; }
  // The path of that file; null without one. The caller may replace it by this one's.
  std::string* same_as(const RowFile& file);

 private:
  std::unordered_map<std::string, std::string> first_;  // files, by their paths without the event's number
};

// Holds what reads one run to one run. Two files with the same place in a dump are of two runs: together they would be
// taken for one run that computes everything twice.
class OneRun {
 public:
  // Adds a file. If another run has this file, too, the error names both runs. A run in a store may consist of several
  // dumps, such as the dumps of its ranks.
  Status add(const std::string& path);

  // The path of the first file's run; empty before a file that tells its run.
  const std::string& first() const { return first_; }

 private:
  struct Whose {
    std::string in_store;  // "runs.db//a"; empty if the file is in no store
    std::string run;       // the folder that the file is, or was, in
  };
  std::unordered_map<std::string, Whose> whose_;  // by the place below the run
  std::string first_;
};

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
