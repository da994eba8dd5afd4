// Records the losses of rows that are converted from one dialect to another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/data/rows/column.hpp"

namespace tensorstat {

// The losses, grouped by kind. Each kind has a count and its first examples.
class ConversionLosses {
 public:
  // A cell for which the dialect has no column, and one that reads back differently.
  void dropped(std::string_view heading, std::string_view to, const Row& row);
  void changed(std::string_view heading, const Row& row, std::string_view before, std::string_view after);
  // A row that could not be written, and the reason.
  void refused(const Row& row, std::string_view why);
  std::uint64_t refused_rows() const { return refused_rows_; }
  // `count` arguments and outputs of a call that are not tensors.
  void left_out(std::string_view call, std::uint64_t count, std::string_view to);
  // `count` tensors of a call for which a dump.json has more members than a row, such as `member`.
  void cut_short(std::string_view call, std::uint64_t count, std::string_view member, std::string_view to);

  // Records differences between `before` and `after`, in the columns that have a place and in the statistics of
  // `before`. A value that `before` does not have is not a loss.
  void compare(const Row& before, const Row& after, const std::function<bool(const Column&)>& has_place);

  // The report: one line for each row if a kind has few, else one line for the kind.
  std::vector<std::string> words() const;

 private:
  struct Group {
    std::uint64_t count = 0;
    std::vector<std::string> examples;  // the first few
  };
  void add(std::string kind, std::string example);

  std::map<std::string, Group> groups_;
  struct Sum {
    std::uint64_t count = 0;
    std::string words;  // follows the number
  };
  Sum left_out_, cut_short_;
  std::uint64_t refused_rows_ = 0;
};

// "Default/net/Conv2D-op1.input.0"
std::string row_label(const Identity& identity);

}  // namespace tensorstat
