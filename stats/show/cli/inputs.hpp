// Finds the files that the user's arguments name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat::cli {

// kGiven: the order of the arguments. The others sort the files of all arguments: kName by path in natural order, kTime
// by last change, the oldest first, kSize by size, the largest first.
enum class FileOrder { kGiven, kName, kTime, kSize };

struct Inputs {
  std::vector<std::string> files;  // within an argument in natural order
  std::vector<std::string> lists;  // the files behind @list arguments
  std::vector<Error> faults;       // arguments without any file, and paths that could not be read
  // FILE::TENSOR: of this file only tensors of these names, which may hold * and ?. Not of a file that is named itself,
  // too.
  std::map<std::string, std::vector<std::string>> tensors_of;
  std::vector<std::string> left;   // files of directories without rows that no format reads by their names
  std::vector<std::string> notes;  // for each folder, files that were left out: rows beside tensors, or raw bits
};

// "@list" stands for the paths and globs in the file list, one per line, unless a file named @list exists. A file is
// taken whatever its name is. A directory stands for all files below it that have the name or the first bytes of a
// supported format, each level in natural order (layer.2 before layer.10). Symbolic links to directories below it are
// not followed. If a directory has no tensor files, its files of rows are taken, unless another argument gives tensors
// or `rows` is kLeft. A path that does not exist and contains one of * ? [ is a glob. In a glob, ** stands for any
// number of directories, except hidden ones.
enum class Rows { kTaken, kLeft };
Inputs find_inputs(const std::vector<std::string>& paths, FileOrder order = FileOrder::kGiven,
                   Rows rows = Rows::kTaken);

// Fails if the file `output` is one of the inputs, under any name, and would be overwritten. An input is a file, "-" or
// a folder, which stands for the files of tensors and rows below it. A model's index stands for its shards, an array of
// Zarr for its chunks, and rows or tensors of a dump for the files that are read beside them, such as watch.ndjson.
Status check_is_no_input(const std::string& output, std::span<const std::string> inputs);

// The path of a run in a store; `path` if no run is named. An error if a run is named and `path` is not a store.
Result<std::string> path_of_run(const std::string& path, const std::string& run);

}  // namespace tensorstat::cli
