// The state of `tensorstat top`: it takes keys and gives frames. It does not know the terminal. keys.cpp has the keys;
// each view is a file of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/answer/findings/live_run.hpp"
#include "stats/show/cli/terminal/screen.hpp"
#include "stats/show/cli/top/terminal.hpp"

namespace tensorstat::cli::top {

class TopScreen {
 public:
  // `run` must outlive it. Without `in_style` the text has no escape sequences.
  TopScreen(std::string source, const LiveRun& run, bool in_color, bool in_style)
      : source_(std::move(source)), run_(run), in_color_(in_color), in_style_(in_style) {}

  // False: the user wants to leave.
  bool press(const Key& key);
  bool is_paused() const { return is_paused_; }
  // A message for the line above the keys, such as a file that could not be read.
  void say(std::string words) { message_ = std::move(words); }

  // Lines, none wider than the screen; as many as the screen has.
  std::vector<std::string> frame(Screen screen);

 private:
  enum class View : std::uint8_t { kFindings, kTensors, kRanks, kTensor, kHelp };
  enum class Sort : std::uint8_t { kOrder, kChange, kSize, kName };
  // A line of the list of tensors: of a tensor on several ranks, one that holds NaN or Inf, else the first.
  struct Listed {
    std::uint32_t tensor = 0, rank = 0;
    bool has_fault = false;
    double change = 0, size = 0;
  };

  void list_tensors();
  void move(std::ptrdiff_t by);
  void open(std::uint32_t tensor, std::uint32_t rank);
  void open_selected();
  void choose_rank(int by);
  std::size_t line_count() const;
  std::vector<std::size_t> shown_findings() const;

  std::vector<std::string> head(std::size_t columns) const;
  std::vector<std::string> findings_view(std::size_t columns, std::size_t rows);
  std::vector<std::string> tensors_view(std::size_t columns, std::size_t rows);
  std::vector<std::string> ranks_view(std::size_t columns, std::size_t rows);
  std::vector<std::string> tensor_view(std::size_t columns, std::size_t rows) const;
  std::vector<std::string> help_view(std::size_t columns) const;
  std::string foot(std::size_t columns) const;
  // The lines from `first_` on that fit, so that the chosen one is among them.
  void scroll_to_chosen(std::size_t count, std::size_t rows);

  std::string painted(std::string_view style, std::string text) const;
  std::string age_of(const LiveRun::RankNews& rank) const;
  std::string rate_of(std::uint32_t rank, std::uint64_t rows);

  const std::string source_;
  const LiveRun& run_;
  const bool in_color_, in_style_;
  View view_ = View::kFindings, before_ = View::kFindings;
  Sort sort_ = Sort::kOrder;
  std::size_t chosen_ = 0, first_ = 0;
  bool is_paused_ = false, is_typing_ = false;
  std::string filter_, message_;
  std::uint32_t tensor_ = 0, rank_ = 0;  // of View::kTensor
  std::vector<Listed> tensors_;
  std::uint64_t listed_rows_ = UINT64_MAX;  // how many rows there were when tensors_ was made
  std::size_t body_rows_ = 10;
  // To tell rows a second: how many rows a rank had some seconds ago.
  struct Mark {
    std::chrono::steady_clock::time_point when;
    std::uint64_t rows = 0;
    double rate = 0;
    bool is_known = false;
  };
  std::map<std::uint32_t, Mark> marks_;
};

}  // namespace tensorstat::cli::top
