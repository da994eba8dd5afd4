// File names that are too long. The file gets a number as its name, and a line of mapping.csv in its folder has the
// full name.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>
#include <vector>

namespace tensorstat {

// The limit of the file system for a name.
inline constexpr std::size_t kMostNameBytes = 255;

inline constexpr const char* kMappingFile = "mapping.csv";

// A name that no file in `folder` has, with the extension of `long_name`. For MindSpore's files, which end in .npy or
// .json, a number below 2^31. For a dump file or csv of an operator's run, 32 digits, as in msprobe.
std::string number_for(const std::string& folder, std::string_view long_name);

// Whether a file's name is at least `least_digits` digits, followed by .npy, .json, .csv, .bin or nothing.
bool is_number(std::string_view file_name, std::size_t least_digits = 1);

// For names without an extension, and csv files of a run: a number with fewer digits does not stand for a long name.
inline constexpr std::size_t kLeastDigits = 16;

// The line of mapping.csv, without LF.
std::string mapping_line(std::string_view number, std::string_view long_name);

// Parses a mapping.csv to pairs of the file's name and its full name. Lines without a comma are ignored.
std::vector<std::pair<std::string, std::string>> mapping_in(std::string_view text);

// Reads the mapping.csv of a folder; empty if the file is missing.
Result<std::vector<std::pair<std::string, std::string>>> read_mapping(const std::string& folder);

// Finds the full names of files. Caches the mapping of each folder.
class LongNames {
 public:
  // If a mapping.csv cannot be read, `unreadable` is called once for its folder, and its files keep their numbers as
  // names.
  explicit LongNames(std::function<void(const Error&)> unreadable) : unreadable_(std::move(unreadable)) {}

  // The full name of a file, without its folders.
  std::string name_of(std::string_view path);

 private:
  const std::function<void(const Error&)> unreadable_;
  std::map<std::string, std::map<std::string, std::string>> folders_;
};

}  // namespace tensorstat
