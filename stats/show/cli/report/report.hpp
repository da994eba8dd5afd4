// The results as text: tables, and formats that have a text for each row.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/survey/survey.hpp"
#include "stats/show/cli/options/arguments.hpp"
#include "stats/show/cli/terminal/screen.hpp"

namespace tensorstat::cli {

// Each call returns the text that is ready. All returned texts in order are the document.
class Report {
 public:
  virtual ~Report() = default;
  virtual std::string begin() { return {}; }
  virtual std::string add(const SurveyedTensor& entry) = 0;
  virtual std::string end() { return {}; }
  // Makes the text of a row, if it depends on nothing else; else empty. Any thread may call it. add() takes the text
  // from entry.line if it is there.
  virtual Survey::Line line() const { return {}; }
};

// A number in a table has at most so many significant digits. Other formats write all digits.
inline constexpr int kTableDigits = 6;
inline constexpr int kAllDigits = 17;  // the shortest that read back as the same number

// The columns of a table behind the name.
struct TableColumns {
  std::vector<Subject> shown;
  std::vector<Subject> named = {};  // by --sort and --where: shown even without room, or if each row has 0
  bool are_default = false;         // counts of only zeros are left out in pipes, too
  int digits = kTableDigits;
};

// Makes a report in the format, statistics, columns and placement (--explain) of the arguments.
std::unique_ptr<Report> make_report(const Arguments& arguments, const Look& look);

std::unique_ptr<Report> make_table(TableColumns columns, bool with_placement, const Look& look);
std::unique_ptr<Report> make_markdown(const TableColumns& columns);
// The text around the texts of rows.
struct LineFrame {
  std::string begin = {}, before_first = {}, before_next = {}, end = {};
};
std::unique_ptr<Report> make_lines(Survey::Line line, LineFrame frame);
std::unique_ptr<Report> make_json(bool with_placement);
std::unique_ptr<Report> make_ndjson(bool with_placement);

std::string short_text(const Value& value, int digits = kTableDigits);

// The same for a statistic of a tensor with this shape. An index is followed by its coordinates, "17 (2,3)", unless
// they are the same.
std::string short_text(Category category, const Value& value, const Shape& shape, int digits = kTableDigits);

// A row's value of a subject, printable.
std::string short_text(const Subject& subject, const FactValue& value, const Shape& shape, int digits = kTableDigits);

// Shortens the long name of a dump file to operator, input or output, and slot: the other parts have columns. Not
// escaped.
std::string short_label(const SurveyedTensor& entry);

// --explain in words: where statistics were computed and why. Tensors with the same explanation share one text.
class Explanation {
 public:
  void add(const SurveyedTensor& entry);

  // Printable lines for each group of tensors. First the tensor, or the number of tensors and the first one. Then "
  // max, min: opencl, the device reads host memory in place" for each engine and reason. Then the device memory used.
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
