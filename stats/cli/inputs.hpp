// From what the user named to the files that will be read.
#pragma once

#include <span>
#include <string>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat::cli {

// That of the arguments, or, of the files of all arguments, by path in natural order, by the time of the last
// change, the oldest first, or by size, the largest first.
enum class FileOrder { kGiven, kName, kTime, kSize };

struct Inputs {
  std::vector<std::string> files;  // within an argument in natural order
  std::vector<std::string> lists;  // that named some of them
  std::vector<Error> faults;       // each argument that gave nothing, and what could not be looked at
  std::vector<std::string> notes;  // each directory of which files were left out: of rows beside tensors, of bits alone
};

// "@list" stands for the paths and globs that the file list holds, a line each, unless there is a file of that name. A
// file is taken whatever its name. Of a directory, every file with the extension of a format below it, each level
// in natural order (layer.2 before layer.10); symbolic links to directories below it are not followed. Of one that holds
// no such file the files of rows are taken, unless some other argument gives tensors or `rows` says no. What does not
// exist and holds one of * ? [ is a glob, in which a part ** stands for any number of directories, hidden ones left
// out.
enum class Rows { kTaken, kLeft };
Inputs find_inputs(const std::vector<std::string>& paths, FileOrder order = FileOrder::kGiven,
                   Rows rows = Rows::kTaken);

// An error where the file `output` is one of the inputs, by whatever name, and would be replaced. An input is a file,
// "-" or a folder: of a folder, the files of tensors and of rows below it. Of a model's index its shards are inputs,
// too.
Status check_is_no_input(const std::string& output, std::span<const std::string> inputs);

}  // namespace tensorstat::cli
