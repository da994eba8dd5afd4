#include "stats/show/cli/terminal/trend_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <vector>

#include "stats/answer/findings/series_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/report/name_cut.hpp"
#include "stats/show/cli/terminal/bars.hpp"
#include "stats/show/cli/terminal/text_width.hpp"

namespace tensorstat::cli {
namespace {

using Rgb = std::array<int, 3>;

// How cells look: a letter without colours, and on a cell that is one colour; the page's colours on a dark ground.
struct CellLook {
  Rgb colour;
  std::string_view letter;
};
constexpr CellLook kMissingLook{{22, 26, 30}, " "}, kZeroLook{{44, 88, 60}, "0"}, kMinusLook{{150, 160, 170}, "v"},
    kPlusLook{{255, 255, 255}, "^"}, kNanLook{{255, 60, 190}, "N"};
constexpr Rgb kCalm{48, 54, 61}, kUp{255, 154, 61}, kDown{100, 169, 242}, kInk{20, 20, 20};

CellLook look_of(HeatKey key) {
  switch (key.look()) {
    case HeatLook::kMissing:
      return kMissingLook;
    case HeatLook::kZero:
      return kZeroLook;
    case HeatLook::kMinusInf:
      return kMinusLook;
    case HeatLook::kPlusInf:
      return kPlusLook;
    case HeatLook::kNan:
      return kNanLook;
    case HeatLook::kValue:
      break;
  }
  const double change = key.change(), size = std::fabs(change), share = key.shade();
  const Rgb& end = change < 0 ? kDown : kUp;
  Rgb colour;
  for (std::size_t i = 0; i < 3; ++i) colour[i] = kCalm[i] + static_cast<int>((end[i] - kCalm[i]) * share);
  const std::string_view letter = size < 1 ? "·" : change > 0 ? (size < 4 ? "+" : "#") : size < 4 ? "-" : "=";
  return {colour, letter};
}

class Painter {
 public:
  explicit Painter(Palette palette) : palette_(palette) {}

  bool has_colours() const { return palette_ != Palette::kNone; }
  // Text that is shown in these colours; each change is said once.
  void put(std::string_view text, const Rgb& ink, const Rgb& ground) {
    if (has_colours() && (!is_set_ || ink != ink_ || ground != ground_)) {
      text_ += "\033[" + code(38, ink) + ";" + code(48, ground) + "m";
      is_set_ = true;
      ink_ = ink;
      ground_ = ground;
    }
    text_ += text;
  }
  void plain() {
    if (std::exchange(is_set_, false)) text_ += "\033[0m";
  }
  void line(std::string_view text) {
    plain();
    text_.append(text) += '\n';
  }
  std::string& text() { return text_; }

 private:
  std::string code(int where, const Rgb& colour) const {
    std::string text = std::to_string(where);
    if (palette_ == Palette::kTrue) {
      text += ";2";
      for (const int part : colour) text += ";" + std::to_string(part);
      return text;
    }
    // Terminals with 256 colours have 24 greys, and a cube of 6 x 6 x 6.
    int cube = 16, of_cube = 0, of_grey = 0;  // squares of the distances
    const int grey = std::clamp((colour[0] + colour[1] + colour[2] - 9) / 30, 0, 23);
    constexpr int kWeights[] = {36, 6, 1}, kLevels[] = {0, 95, 135, 175, 215, 255};
    for (std::size_t i = 0; i < 3; ++i) {
      const int level = colour[i] < 48 ? 0 : colour[i] < 115 ? 1 : std::min(5, (colour[i] - 35) / 40);
      cube += kWeights[i] * level;
      of_cube += (colour[i] - kLevels[level]) * (colour[i] - kLevels[level]);
      of_grey += (colour[i] - 8 - 10 * grey) * (colour[i] - 8 - 10 * grey);
    }
    return text + ";5;" + std::to_string(of_cube < of_grey ? cube : 232 + grey);
  }

  const Palette palette_;
  bool is_set_ = false;
  Rgb ink_{}, ground_{};
  std::string text_;
};

// Names in `columns` columns. What tells them apart, such as a layer's number, is not cut if there is a way.
std::vector<std::string> padded(std::vector<std::string> names, std::size_t columns) {
  for (std::string& name : names) name = printable_name(name);
  for (const CutNames how : {CutNames::kWholeWords, CutNames::kInWords}) {
    const auto cut = cut_names(names, columns, how);
    if (!cut) continue;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (width(names[i]) > columns) names[i] = (*cut)[i];
    }
    break;
  }
  for (std::string& name : names) {
    name = elided(name, columns);
    name += std::string(columns - std::min(columns, width(name)), ' ');
  }
  return names;
}

class Picture {
 public:
  Picture(const History& history, const tensorstat::Findings& findings, HeatMap::Choice choice, const TrendLook& look)
      : history_(history),
        findings_(findings),
        choice_(std::move(choice)),
        look_(look),
        painter_(look.palette),
        gutter_(std::clamp<std::size_t>(look.columns / 3, 8, 30)),
        width_(look.columns > gutter_ + 1 ? look.columns - gutter_ - 1 : 1) {}

  std::string draw() {
    const std::vector<std::string> verdict =
        wrapped(findings_.verdict.empty() ? "" : printable(findings_.verdict.front()), look_.columns, 3);
    const std::vector<const HistorySeries*> lines = lines_of_bars();
    const std::size_t besides = verdict.size() + lines.size() + 3;  // the axis, the legend, and the prompt
    const std::size_t height = std::max<std::size_t>(4, look_.rows > besides ? look_.rows - besides : 0);
    choice_.most_columns = width_;
    choice_.most_rows = painter_.has_colours() ? 2 * height : height;
    const HeatMap map(history_, choice_);
    for (const std::string& line : verdict) painter_.line(line);
    draw_map(map, std::min(height, map.tensors().size()));
    draw_axis(map);
    std::vector<std::string> names;
    for (const HistorySeries* series : lines) names.push_back(short_label(*series));
    names = padded(std::move(names), gutter_);
    for (std::size_t i = 0; i < lines.size(); ++i) draw_bars(map, *lines[i], names[i]);
    painter_.line(elided(legend(), look_.columns));
    return std::move(painter_.text());
  }

 private:
  // The loss, and the first tensors that findings name; a third of the screen at most.
  std::vector<const HistorySeries*> lines_of_bars() const {
    const std::size_t most = std::max<std::size_t>(1, look_.rows / 6);
    std::vector<const HistorySeries*> lines;
    const auto add = [&](const HistorySeries& series) {
      if (lines.size() < most && std::ranges::count(lines, &series) == 0) lines.push_back(&series);
    };
    for (const HistorySeries& series : history_.series()) {
      if (kind_of(history_, series) == TensorKind::kLoss && (!choice_.rank || *choice_.rank == series.rank)) {
        add(series);
        break;
      }
    }
    for (const Finding& finding : findings_.list) {
      for (const HistorySeries& series : history_.series()) {
        const HistoryTensor& tensor = history_.tensors()[series.tensor];
        if (series.rank != finding.rank || history_.op_name(series.tensor) != finding.op_name) continue;
        if (!finding.io.empty() && (tensor.slot != finding.slot || tensor.is_input != (finding.io == "input")))
          continue;
        if (!finding.op_type.empty() && history_.op_type(series.tensor) != finding.op_type) continue;
        add(series);
        break;
      }
    }
    return lines;
  }

  // A map with fewer cells than the picture is spread over it.
  HeatKey key_at(const HeatMap& map, std::size_t row, std::size_t rows, std::size_t column) const {
    return map.at(row * map.rows() / rows, column * map.columns() / width_);
  }

  void draw_map(const HeatMap& map, std::size_t height) {
    if (map.rows() == 0 || map.columns() == 0) return painter_.line("(no tensor and iteration was chosen)");
    const bool is_half = painter_.has_colours();
    const std::size_t rows = is_half ? 2 * height : height;
    std::vector<std::string> names;
    for (std::size_t line = 0; line < height; ++line) {
      const std::size_t tensor = map.first_of_row((is_half ? 2 * line : line) * map.rows() / rows);
      names.push_back(short_label(map.tensors()[tensor]));
    }
    names = padded(std::move(names), gutter_);
    for (std::size_t line = 0; line < height; ++line) {
      painter_.plain();
      painter_.text() += names[line] + " ";
      for (std::size_t column = 0; column < width_; ++column) {
        if (!is_half) {
          painter_.put(look_of(key_at(map, line, rows, column)).letter, kInk, kInk);
          continue;
        }
        const HeatKey upper = key_at(map, 2 * line, rows, column), lower = key_at(map, 2 * line + 1, rows, column);
        const CellLook top = look_of(upper), bottom = look_of(lower);
        const bool has_letter =
            upper == lower && upper.look() != HeatLook::kValue && upper.look() != HeatLook::kMissing;
        painter_.put(has_letter                    ? top.letter
                     : top.colour == bottom.colour ? " "
                                                   : "▀",
                     has_letter || top.colour == bottom.colour ? kInk : top.colour, bottom.colour);
      }
      painter_.line("");
    }
  }

  // Shorter than in sentences: output 0 is said by nothing.
  std::string short_label(const HistorySeries& series) const {
    const HistoryTensor& tensor = history_.tensors()[series.tensor];
    const std::string name(history_.op_name(series.tensor));
    switch (kind_of(history_, series)) {
      case TensorKind::kLoss:
        return "loss";
      case TensorKind::kParameter:
        return "param " + name;
      case TensorKind::kGradient:
        return "grad " + name;
      case TensorKind::kUpdate:
        return "update " + name;
      case TensorKind::kBuffer:
        return "buffer " + name;
      case TensorKind::kForward:
      case TensorKind::kBackward:
        break;
    }
    if (tensor.slot == 0 && !tensor.is_input) return name;
    return name + (tensor.is_input ? " in " : " out ") + std::to_string(tensor.slot);
  }
  std::string short_label(std::uint32_t tensor) const {
    HistorySeries series;
    series.tensor = tensor;
    return short_label(series);
  }

  // Iterations below the map, as many as have room.
  void draw_axis(const HeatMap& map) {
    std::string line(gutter_ + 1 + width_, ' ');
    std::size_t free = gutter_ + 1;
    constexpr std::size_t kGap = 12;
    for (std::size_t column = 0; column < width_ && map.columns() != 0; column += kGap) {
      const std::size_t index = map.first_of_column(column * map.columns() / width_);
      const std::string text = std::to_string(map.iterations()[index]);
      const std::size_t place = gutter_ + 1 + column;
      if (place < free || place + text.size() > line.size()) continue;
      line.replace(place, text.size(), text);
      free = place + text.size() + 1;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    painter_.line(line);
  }

  // The heights are logarithms between the least and the greatest value. A column shows the greatest that it covers.
  void draw_bars(const HeatMap& map, const HistorySeries& series, const std::string& label) {
    const std::vector<HeatKey> keys = keys_of(history_, series, choice_.value);
    std::vector<HeatKey> worst(map.columns());
    std::vector<double> most(map.columns(), 0);
    double least = INFINITY, greatest = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto column = map.column_of(history_.iteration(series.cells[i]));
      if (!column) continue;
      worst[*column] = std::max(worst[*column], keys[i]);
      const double size = std::fabs(value_of(history_, series.cells[i], choice_.value));
      if (keys[i].look() != HeatLook::kValue) continue;
      most[*column] = std::max(most[*column], size);
      least = std::min(least, size);
      greatest = std::max(greatest, size);
    }
    painter_.plain();
    painter_.text() += label + " ";
    for (std::size_t x = 0; x < width_ && map.columns() != 0; ++x) {
      const std::size_t column = x * map.columns() / width_;
      const HeatLook look = worst[column].look();
      const CellLook shown = look_of(worst[column]);
      if (look == HeatLook::kValue) {
        const double span = std::log2(greatest / least);
        const double height = span > 0 ? std::log2(most[column] / least) / span : 0.5;
        painter_.plain();
        painter_.text() += bar(std::min(kEighths, 1 + static_cast<std::size_t>(std::max(0.0, height * kEighths))));
      } else {
        painter_.put(shown.letter, kInk, look == HeatLook::kMissing ? kInk : shown.colour);
      }
    }
    painter_.line("");
  }

  std::string legend() const {
    std::string text(name(choice_.value));
    text +=
        painter_.has_colours() ? " to its past: orange above, blue below" : " to its past: + 2x # 16x, - 1/2 = 1/16";
    text += "; N NaN ^v Inf 0 zero";
    return text;
  }

  const History& history_;
  const tensorstat::Findings& findings_;
  HeatMap::Choice choice_;
  const TrendLook look_;
  Painter painter_;
  const std::size_t gutter_, width_;
};

}  // namespace

Palette palette_of_terminal(bool wants_color) {
  if (!wants_color) return Palette::kNone;
  const char* colours = std::getenv("COLORTERM");
  const std::string_view setting = colours == nullptr ? "" : colours;
  return setting == "truecolor" || setting == "24bit" ? Palette::kTrue : Palette::k256;
}

std::string trend_picture(const History& history, const tensorstat::Findings& findings, HeatMap::Choice choice,
                          const TrendLook& look) {
  return Picture(history, findings, std::move(choice), look).draw();
}

}  // namespace tensorstat::cli
