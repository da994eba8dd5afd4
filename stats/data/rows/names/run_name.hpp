// The names of files of rows: statistic.csv, and CANN's csv files, each of one run of one operator.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>

namespace tensorstat {

// "a/statistic_2.csv" for "a/statistic.csv" and 2: where rows lie that do not fit the heading of the file before.
std::string numbered_path(const std::string& path, int number);

// Whether a file without its folders is statistic.csv or one of its successors.
bool is_statistic_csv(std::string_view name);

// The name of a dump file, "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}", with / \ . space and control
// characters in type and name replaced by _. May exceed the length of a file name.
std::string run_file_stem(const Identity& identity);

// run_file_stem() with ".csv".
std::string run_file_name(const Identity& identity);

// Whether a reader would take such a name: neither type nor name is empty.
bool can_name_run(const Identity& identity);

// Parses such a name with OperatorRunName; nullopt for any other name. Folders before it are ignored.
std::optional<Identity> identity_of_run(std::string_view path);

// The run that a file's name tells of; of another name, the file as the operator.
Identity run_or_file(std::string_view path);

}  // namespace tensorstat
