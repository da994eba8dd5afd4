#include <algorithm>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/show/cli/top/screen_text.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli::top {

std::size_t TopScreen::line_count() const {
  switch (view_) {
    case View::kFindings:
      return shown_findings().size();
    case View::kTensors:
      return tensors_.size();
    case View::kRanks:
      return run_.ranks().size();
    case View::kTensor:
    case View::kHelp:
      break;
  }
  return 0;
}

void TopScreen::move(std::ptrdiff_t by) {
  const auto last = static_cast<std::ptrdiff_t>(line_count()) - 1;
  chosen_ = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chosen_) + by, 0, std::max<std::ptrdiff_t>(last, 0)));
}

void TopScreen::open(std::uint32_t tensor, std::uint32_t rank) {
  before_ = view_;
  view_ = View::kTensor;
  tensor_ = tensor;
  rank_ = rank;
}

void TopScreen::open_selected() {
  if (view_ == View::kTensors && chosen_ < tensors_.size()) open(tensors_[chosen_].tensor, tensors_[chosen_].rank);
  if (view_ != View::kFindings) return;
  const auto shown = shown_findings();
  if (chosen_ >= shown.size()) return;
  const Finding& finding = run_.findings().list[shown[chosen_]];
  const History& history = run_.history();
  for (const HistorySeries& series : history.series()) {
    const HistoryTensor& tensor = history.tensors()[series.tensor];
    if (series.rank != finding.rank || history.op_name(series.tensor) != finding.op_name) continue;
    if (!finding.io.empty() && (tensor.is_input != (finding.io == "input") || tensor.slot != finding.slot)) continue;
    return open(series.tensor, series.rank);
  }
  say(finding.op_name.empty() ? "this finding is of a rank, not of a tensor" : "no row has this tensor");
}

void TopScreen::choose_rank(int by) {
  if (view_ != View::kTensor) return;
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, news] : run_.ranks()) {
    if (run_.history().series(tensor_, rank) != nullptr) ranks.push_back(rank);
  }
  const auto index = std::ranges::find(ranks, rank_) - ranks.begin();
  const auto next = std::clamp<std::ptrdiff_t>(index + by, 0, static_cast<std::ptrdiff_t>(ranks.size()) - 1);
  if (!ranks.empty()) rank_ = ranks[static_cast<std::size_t>(next)];
}

bool TopScreen::press(const Key& key) {
  message_.clear();
  if (key.name == KeyName::kClosed) return false;
  const auto filter_changed = [&] {
    chosen_ = first_ = 0;
    listed_rows_ = UINT64_MAX;
  };
  if (is_typing_) {
    if (key.name == KeyName::kText) filter_ += in_lower_case(key.text);
    if (key.name == KeyName::kBackspace && !filter_.empty()) {
      do {
        filter_.pop_back();
      } while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xc0) == 0x80);
    }
    if (key.name == KeyName::kEscape) filter_.clear();
    if (key.name == KeyName::kEnter || key.name == KeyName::kEscape) is_typing_ = false;
    filter_changed();
    return true;
  }
  const auto show = [&](View view) {
    if (view_ != view) chosen_ = first_ = 0;
    view_ = view;
  };
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(body_rows_, 2) - 1);
  switch (key.name) {
    case KeyName::kUp:
      return move(-1), true;
    case KeyName::kDown:
      return move(1), true;
    case KeyName::kPageUp:
      return move(-page), true;
    case KeyName::kPageDown:
      return move(page), true;
    case KeyName::kHome:
      return move(-1'000'000'000), true;
    case KeyName::kEnd:
      return move(1'000'000'000), true;
    case KeyName::kLeft:
      return choose_rank(-1), true;
    case KeyName::kRight:
      return choose_rank(1), true;
    case KeyName::kEnter:
      return open_selected(), true;
    case KeyName::kTab:
      show(view_ == View::kFindings ? View::kTensors : view_ == View::kTensors ? View::kRanks : View::kFindings);
      return true;
    case KeyName::kEscape:
    case KeyName::kBackspace:
      if (view_ == View::kTensor || view_ == View::kHelp) {
        view_ = before_;
      } else {
        filter_.clear();
        filter_changed();
      }
      return true;
    case KeyName::kText:
      break;
    default:
      return true;
  }
  switch (key.text[0]) {
    case 'q':
      return false;
    case '1':
      show(View::kFindings);
      break;
    case '2':
      show(View::kTensors);
      break;
    case '3':
      show(View::kRanks);
      break;
    case 'j':
      move(1);
      break;
    case 'k':
      move(-1);
      break;
    case 'g':
      move(-1'000'000'000);
      break;
    case 'G':
      move(1'000'000'000);
      break;
    case '[':
      choose_rank(-1);
      break;
    case ']':
      choose_rank(1);
      break;
    case 's':
      sort_ = sort_ == Sort::kName ? Sort::kOrder : static_cast<Sort>(static_cast<int>(sort_) + 1);
      filter_changed();
      break;
    case '/':
      is_typing_ = true;
      filter_.clear();
      filter_changed();
      break;
    case ' ':
      is_paused_ = !is_paused_;
      break;
    case '?':
    case 'h':
      if (view_ != View::kHelp) before_ = view_;
      view_ = View::kHelp;
      break;
    default:
      break;
  }
  return true;
}

}  // namespace tensorstat::cli::top
