#include "stats/show/page/picture.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/answer/findings/heat_map.hpp"
#include "stats/answer/findings/series_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/page/packed.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kWidth = 1200, kHeight = 640;  // of the map, at most
using Ink = std::array<std::uint8_t, 3>;
// As page.css has them, in its light form.
constexpr Ink kMissingColour = {0xe9, 0xeb, 0xed}, kDotColour = {0xc3, 0xc8, 0xcd}, kZeroColour = {0xd4, 0xe7, 0xd4},
              kBlankColour = {0xf9, 0xf9, 0xf7}, kGreaterColour = {0xd9, 0x5f, 0x02},
              kSmallerColour = {0x21, 0x66, 0xac}, kFault = {0xb0, 0x10, 0x7e}, kFaultHatch = {0xd0, 0x70, 0xb4},
              kInfinity = {0x11, 0x14, 0x17}, kInfinityHatch = {0xc4, 0xc5, 0xc5};

// Numbers of the palette's inks: six of their own, then changes of a tensor against its past, smaller and greater.
enum Number : std::uint8_t {
  kMissingInk,
  kDotInk,
  kZeroInk,
  kFaultInk,
  kFaultHatchInk,
  kInfinityInk,
  kInfinityHatchInk,
  kSmaller
};
constexpr std::size_t kShades = 120, kGreater = kSmaller + kShades, kInks = kGreater + kShades;

Ink mixed(const Ink& a, const Ink& b, double share) {
  Ink ink{};
  for (std::size_t i = 0; i < 3; ++i) ink[i] = static_cast<std::uint8_t>(std::lround(a[i] + (b[i] - a[i]) * share));
  return ink;
}

std::array<Ink, kInks> palette() {
  std::array<Ink, kInks> inks{kMissingColour, kDotColour, kZeroColour, kFault, kFaultHatch, kInfinity, kInfinityHatch};
  for (std::size_t i = 0; i < kShades; ++i) {
    const double share = static_cast<double>(i) / (kShades - 1);
    inks[kSmaller + i] = mixed(kBlankColour, kSmallerColour, share);
    inks[kGreater + i] = mixed(kBlankColour, kGreaterColour, share);
  }
  return inks;
}

// As the page's colour_table(): a change of less than a factor of two has next to no colour.
std::uint8_t ink_of(HeatKey key, std::size_t x, std::size_t y) {
  switch (key.look()) {
    case HeatLook::kMissing:
      return x % 5 == 0 && y % 5 == 0 ? kDotInk : kMissingInk;
    case HeatLook::kZero:
      return kZeroInk;
    case HeatLook::kNan:
      return (x + y) % 9 == 0 ? kFaultHatchInk : kFaultInk;
    case HeatLook::kPlusInf:
      return y % 4 == 0 ? kInfinityHatchInk : kInfinityInk;
    case HeatLook::kMinusInf:
      return x % 4 == 0 ? kInfinityHatchInk : kInfinityInk;
    case HeatLook::kValue:
      break;
  }
  const std::size_t first = key.change() < 0 ? std::size_t{kSmaller} : kGreater;
  return static_cast<std::uint8_t>(first + static_cast<std::size_t>(std::lround(key.shade() * (kShades - 1))));
}

void append_number(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift & 255);
}

void append_chunk(std::string& png, std::string_view kind, std::string_view bytes) {
  append_number(png, static_cast<std::uint32_t>(bytes.size()));
  const std::string checked = std::string(kind) + std::string(bytes);
  png += checked;
  append_number(png, static_cast<std::uint32_t>(
                         crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()))));
}

struct DrawnMap {
  HeatMap map;
  std::size_t width, height;  // in pixels
  HeatValue value;
};

Result<DrawnMap> picture_of(const History& history) {
  const auto value = first_measured(history);
  if (!value) return Error{Code::kUnsupported, "has no l2norm, max, min and avg, and there is nothing to draw"};
  HeatMap map(history, {.value = *value, .most_rows = kHeight, .most_columns = kWidth});
  const std::size_t wide = std::clamp<std::size_t>(kWidth / map.columns(), 1, 24),
                    tall = std::clamp<std::size_t>(kHeight / map.rows(), 1, 16);
  const std::size_t width = map.columns() * wide, height = map.rows() * tall;
  return DrawnMap{std::move(map), width, height, *value};
}

// PNG with a palette of 8 bits: https://www.w3.org/TR/png-3/
Result<std::string> png_of(const DrawnMap& picture) {
  const HeatMap& map = picture.map;
  std::vector<std::uint8_t> inks(picture.width * picture.height);
  const std::size_t wide = picture.width / map.columns(), tall = picture.height / map.rows();
  for (std::size_t y = 0; y < picture.height; ++y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      inks[y * picture.width + x] = ink_of(map.at(y / tall, x / wide), x, y);
    }
  }
  // A fault of one pixel is made as large as an eye needs.
  constexpr std::size_t kVisiblePixels = 3;
  for (std::size_t row = 0; row < map.rows(); ++row) {
    for (std::size_t column = 0; column < map.columns(); ++column) {
      const HeatKey key = map.at(row, column);
      if (key.look() < HeatLook::kMinusInf) continue;
      for (std::size_t y = row * tall; y < std::min(picture.height, row * tall + std::max(tall, kVisiblePixels)); ++y) {
        for (std::size_t x = column * wide; x < std::min(picture.width, column * wide + std::max(wide, kVisiblePixels));
             ++x) {
          if (map.at(y / tall, x / wide) < key) inks[y * picture.width + x] = ink_of(key, x, y);
        }
      }
    }
  }
  std::string rows;
  for (std::size_t y = 0; y < picture.height; ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(inks.data() + y * picture.width), picture.width);
  }
  const auto data = deflated(rows);
  if (!data) return data.error();
  std::string png = "\x89PNG\r\n\x1a\n", head, colours;
  append_number(head, static_cast<std::uint32_t>(picture.width));
  append_number(head, static_cast<std::uint32_t>(picture.height));
  head += std::string("\x08\x03\x00\x00\x00", 5);  // 8 bits, a palette, zlib, no interlacing
  for (const Ink& ink : palette()) colours.append(reinterpret_cast<const char*>(ink.data()), ink.size());
  append_chunk(png, "IHDR", head);
  append_chunk(png, "PLTE", colours);
  append_chunk(png, "IDAT", *data);
  append_chunk(png, "IEND", "");
  return png;
}

// A text of a run in XML: no markup, and no character that XML does not have.
std::string in_xml(std::string_view text) {
  std::string out, whole = printable(text);
  for (const std::string_view none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {  // U+FFFE and U+FFFF
    for (auto place = whole.find(none); place != whole.npos; place = whole.find(none, place)) {
      whole.replace(place, none.size(), none.ends_with('\xbe') ? "\\ufffe" : "\\uffff");
    }
  }
  for (const char each : whole) {
    if (each == '&') out += "&amp;";
    if (each == '<') out += "&lt;";
    if (each == '>') out += "&gt;";
    if (each == '"') out += "&quot;";
    if (each != '&' && each != '<' && each != '>' && each != '"') out += each;
  }
  return out;
}

// At most so many characters, with an ellipsis in the middle.
std::string shortened(std::string_view text, std::size_t most) {
  const std::string all = printable(text);
  if (all.size() <= most) return all;
  std::size_t head = most * 2 / 5, tail = all.size() - most * 3 / 5;
  const auto is_inside = [&](std::size_t index) { return (static_cast<unsigned char>(all[index]) & 0xc0) == 0x80; };
  while (head > 0 && is_inside(head)) --head;
  while (tail < all.size() && is_inside(tail)) ++tail;
  return all.substr(0, head) + "…" + all.substr(tail);
}

class Svg {
 public:
  void text(double x, double y, std::string_view words, std::string_view style = "") {
    body_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + (style.empty() ? "" : " " + std::string(style)) +
             ">" + in_xml(words) + "</text>\n";
  }
  void add(const std::string& markup) { body_ += markup; }
  std::string whole(std::size_t width, std::size_t height, std::string_view title) const {
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"" +
           std::to_string(width) + "\" height=\"" + std::to_string(height) + "\" viewBox=\"0 0 " +
           std::to_string(width) + " " + std::to_string(height) +
           "\" font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"12\" fill=\"#1d2126\">\n<title>" +
           in_xml(title) + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fbfbfa\"/>\n" + body_ + "</svg>\n";
  }
  static std::string number(double value) {
    std::string text = std::to_string(value);
    return text.substr(0, text.find('.') + 2);
  }

 private:
  std::string body_;
};

std::string sample(double x, double y, std::string_view colour) {
  return "<rect x=\"" + Svg::number(x) + "\" y=\"" + Svg::number(y) +
         "\" width=\"20\" height=\"11\" stroke=\"#dfe2e5\" fill=\"" + std::string(colour) + "\"/>\n";
}

}  // namespace

Result<std::string> png_of(const History& history) {
  const auto picture = picture_of(history);
  return picture ? png_of(*picture) : Result<std::string>(picture.error());
}

Result<std::string> svg_of(const History& history, const Findings& findings, const std::string& source) {
  const auto picture = picture_of(history);
  if (!picture) return picture.error();
  const auto png = png_of(*picture);
  if (!png) return png.error();
  constexpr double kLeft = 250, kMargin = 20;
  constexpr std::size_t kMostFindings = 8, kLetters = 150;
  const auto right = static_cast<double>(std::max<std::size_t>(picture->width, 700));
  Svg svg;
  double y = 34;
  const std::string verdict = findings.verdict.empty() ? "" : findings.verdict.front();
  const bool is_clean = findings.is_clean();
  const std::string_view colour = is_clean                                                          ? "#1b6e8c"
                                  : severity(findings.list.front().rule) == FindingSeverity::kError ? "#b0107e"
                                                                                                    : "#a65a00";
  svg.add("<rect x=\"0\" y=\"14\" width=\"6\" height=\"30\" fill=\"" + std::string(colour) + "\"/>\n");
  svg.text(kMargin, y, shortened(verdict, 125), "font-size=\"17\" font-weight=\"600\"");
  for (std::size_t i = 1; i < std::min<std::size_t>(findings.verdict.size(), 4); ++i) {
    svg.text(kMargin, y += 19, shortened(findings.verdict[i], kLetters), "fill=\"#5d6670\"");
  }
  const double top = y + 22;
  const HeatMap& map = picture->map;
  svg.add("<image x=\"" + Svg::number(kLeft) + "\" y=\"" + Svg::number(top) + "\" width=\"" +
          std::to_string(picture->width) + "\" height=\"" + std::to_string(picture->height) +
          "\" image-rendering=\"pixelated\" xlink:href=\"data:image/png;base64," + base64(*png) + "\"/>\n");
  const std::size_t tall = picture->height / map.rows();
  double last = -20;
  for (std::size_t row = 0; row < map.rows(); ++row) {
    const double baseline = static_cast<double>(row * tall) + static_cast<double>(tall) / 2 + 4;
    if (baseline - last < 13) continue;
    last = baseline;
    const std::uint32_t tensor = map.tensors()[map.first_of_row(row)];
    svg.text(kLeft - 8, top + baseline, shortened(history.op_name(tensor), 36),
             "text-anchor=\"end\" font-size=\"11\" fill=\"#5d6670\"");
  }
  const double below = top + static_cast<double>(picture->height);
  const std::size_t wide = picture->width / map.columns();
  last = -80;
  for (std::size_t column = 0; column < map.columns(); ++column) {
    const double left = static_cast<double>(column * wide);
    if (left - last < 80) continue;
    last = left;
    svg.text(kLeft + left, below + 16, std::to_string(map.iterations()[map.first_of_column(column)]),
             "font-size=\"11\" fill=\"#5d6670\"");
  }
  y = below + 40;
  double x = kLeft;
  const std::pair<std::string_view, std::string_view> legend[] = {{"#2166ac", "64 times smaller"},
                                                                  {"#f9f9f7", "as ever"},
                                                                  {"#d95f02", "64 times greater"},
                                                                  {"#b0107e", "NaN"},
                                                                  {"#111417", "Inf"},
                                                                  {"#d4e7d4", "zero"},
                                                                  {"#e9ebed", "missing"}};
  for (const auto& [ink, words] : legend) {
    svg.add(sample(x, y - 10, ink));
    svg.text(x + 26, y, words, "font-size=\"11\" fill=\"#5d6670\"");
    x += 46 + 7 * static_cast<double>(words.size());
  }
  svg.text(kMargin, y, std::string(name(picture->value)) + ", each against its own past",
           "font-size=\"11\" fill=\"#5d6670\"");
  for (std::size_t i = 0; i < std::min(findings.list.size(), kMostFindings); ++i) {
    const Finding& finding = findings.list[i];
    svg.text(kMargin, y += 20,
             "iteration " + std::to_string(finding.first_iteration) + "  " + std::string(name(finding.rule)) + ": " +
                 shortened(finding.text, kLetters));
  }
  if (findings.list.size() > kMostFindings) {
    svg.text(kMargin, y += 20, "and " + std::to_string(findings.list.size() - kMostFindings) + " more findings");
  }
  return svg.whole(static_cast<std::size_t>(kLeft + right + kMargin), static_cast<std::size_t>(y + 20),
                   source + ": " + verdict);
}

}  // namespace tensorstat
