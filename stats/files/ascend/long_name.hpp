// Names that are too long for a file: a number takes their place, and a line of the folder's mapping.csv says which.
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

// The longest name that a file can have.
inline constexpr std::size_t kMostNameBytes = 255;

inline constexpr const char* kMappingFile = "mapping.csv";

// A name for the file that no file in `folder` has, with the same end. Of a file of MindSpore's, which ends in .npy or
// .json, a number below 2^31; of a dump file of an operator's run, or a csv of it, 32 digits, as msprobe has it.
std::string number_for(const std::string& folder, std::string_view long_name);

// Whether a file's name is so many digits or more, and .npy, .json, .csv, .bin or nothing.
bool is_number(std::string_view file_name, std::size_t least_digits = 1);

// Of names without an end of their own, and of a run's csv: what has fewer digits stands for no longer name.
inline constexpr std::size_t kLeastDigits = 16;

// The line that says so, without LF.
std::string mapping_line(std::string_view number, std::string_view long_name);

// The lines of a mapping.csv: the name of a file, and the name that was too long for it. A line without a comma says
// nothing.
std::vector<std::pair<std::string, std::string>> mapping_in(std::string_view text);

// Those of a folder's; none where there is no such file.
Result<std::vector<std::pair<std::string, std::string>>> read_mapping(const std::string& folder);

// Names as they were before they were too long. Remembers folders that it was asked about.
class LongNames {
 public:
  // `unreadable` is told, once a folder, of a mapping.csv that cannot be read; its files keep their numbers as names.
  explicit LongNames(std::function<void(const Error&)> unreadable) : unreadable_(std::move(unreadable)) {}

  // Of a file, without its folders.
  std::string name_of(std::string_view path);

 private:
  const std::function<void(const Error&)> unreadable_;
  std::map<std::string, std::map<std::string, std::string>> folders_;
};

}  // namespace tensorstat
