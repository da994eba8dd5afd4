// The results as text, one format a class.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stats/cli/options/arguments.hpp"
#include "stats/cli/report/screen.hpp"
#include "stats/survey/survey.hpp"

namespace tensorstat::cli {

// Each call returns the text that is ready by then; all of them in order are the whole document.
class Report {
 public:
  virtual ~Report() = default;
  virtual std::string begin() { return {}; }
  virtual std::string add(const SurveyedTensor& entry) = 0;
  virtual std::string end() { return {}; }
};

// Where a table is shown.
struct Look {
  std::optional<Screen> screen = {};  // none: a file or a pipe, where a table has every column and any width
  bool in_color = false;              // NaN and Inf in red
};

// In the format, with the statistics, columns and placement (--explain) that were asked for.
std::unique_ptr<Report> make_report(const Arguments& arguments, const Look& look);

std::unique_ptr<Report> make_table(const Categories& categories, bool with_placement, const Look& look);
std::unique_ptr<Report> make_markdown(const Categories& categories);
std::unique_ptr<Report> make_json(bool with_placement);
std::unique_ptr<Report> make_ndjson(bool with_placement);

// A number as a table has it, for the eye: so many significant digits, and digits alone where they are fewer. The other
// formats have all of them.
inline constexpr int kTableDigits = 6;
std::string short_text(const Value& value, int digits = kTableDigits);

// The same of a statistic of a tensor of this shape: behind an index stand its coordinates, "17 (2,3)", where they say
// more.
std::string short_text(Category category, const Value& value, const Shape& shape, int digits = kTableDigits);

// A dump file's long name shrinks to what its columns do not say: operator, input or output, slot. Not escaped.
std::string short_label(const SurveyedTensor& entry);

// --explain in words: where statistics were computed and why, said once for all tensors of which it is the same.
class Explanation {
 public:
  void add(const SurveyedTensor& entry);

  // Printable lines: the tensor, or how many and the first, "  max, min: opencl, the device reads host memory in place"
  // for each engine and reason, then the device memory that was taken.
  std::vector<std::string> lines() const;

 private:
  struct Group {
    std::vector<std::string> reasons;
    std::string first;  // the label of the first tensor
    std::uint64_t count = 0, most_device_bytes = 0;
  };
  std::vector<Group> groups_;
};

}  // namespace tensorstat::cli
