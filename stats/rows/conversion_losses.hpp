// What rows lose on their way from one dialect into another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/rows/column.hpp"

namespace tensorstat {

// What was not carried over as it was: each kind with the number of rows, and the first of them.
class Losses {
 public:
  // A cell that the dialect has no place for, or that reads otherwise in it.
  void dropped(std::string_view heading, std::string_view to, const Row& row);
  void changed(std::string_view heading, const Row& row, std::string_view before, std::string_view after);
  // A whole row, and why.
  void refused(const Row& row, std::string_view why);
  std::uint64_t refused_rows() const { return refused_rows_; }
  // So many arguments and outputs of a call, which are no tensors.
  void left_out(std::string_view call, std::uint64_t count, std::string_view to);
  // So many tensors of a call, of which a dump.json says more than rows have, such as this member.
  void cut_short(std::string_view call, std::uint64_t count, std::string_view member, std::string_view to);

  // What reads otherwise in `after` than in `before`, of the columns that have a place and of the statistics that
  // `before` has. What `before` does not say is no loss.
  void compare(const Row& before, const Row& after, const std::function<bool(const Column&)>& has_place);

  // One line for each row where few are of a kind, else one for the kind.
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
    std::string words;  // behind the number
  };
  Sum left_out_, cut_short_;
  std::uint64_t refused_rows_ = 0;
};

// "Default/net/Conv2D-op1.input.0"
std::string row_label(const Identity& identity);

}  // namespace tensorstat
