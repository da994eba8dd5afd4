// The results as text, one format a class.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stats/cli/arguments.hpp"
#include "stats/cli/survey.hpp"

namespace tensorstat::cli {

// Each call returns the text that is ready by then; all of them in order are the whole document.
class Report {
 public:
  virtual ~Report() = default;
  virtual std::string begin() { return {}; }
  virtual std::string add(const Entry& entry) = 0;
  virtual std::string end() { return {}; }
};

// In the format, with the statistics, columns and placement (--explain) that were asked for. `in_color`: NaN and Inf
// in red, in a table.
std::unique_ptr<Report> make_report(const Arguments& arguments, bool in_color);

std::unique_ptr<Report> make_table(const Categories& categories, bool with_placement,
                                   bool in_color);
std::unique_ptr<Report> make_json(bool with_placement);
std::unique_ptr<Report> make_ndjson(bool with_placement);

// JSON has no NaN and no Inf: they are strings, as digests are, and what does not exist is null.
std::string json_of(const Value& value);

// --explain in words, as printable lines: the tensor, "  max, min: opencl, the device reads host memory in place"
// for each engine and reason, then the device memory that was taken.
std::vector<std::string> explanation(const Entry& entry);

}  // namespace tensorstat::cli
