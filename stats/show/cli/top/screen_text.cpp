#include "stats/show/cli/top/screen_text.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>

#include "stats/show/cli/terminal/text_width.hpp"

namespace tensorstat::cli::top {

std::string left(std::string_view text, std::size_t columns) {
  std::string cut = elided(text, columns);
  cut.append(columns - std::min(columns, width(cut)), ' ');
  return cut;
}

std::string right(std::string_view text, std::size_t columns) {
  const std::string cut = elided(text, columns);
  return std::string(columns - std::min(columns, width(cut)), ' ') + cut;
}

std::string short_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Inf" : "-Inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t position = text.size(); position > 3; position -= 3) text.insert(position - 3, ",");
  return text;
}

std::string shown_age(double seconds) {
  char text[32];
  if (seconds < 100) {
    std::snprintf(text, sizeof text, "%.0f s", std::max(0.0, seconds));
  } else if (seconds < 6000) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  } else if (seconds < 48 * 3600) {
    std::snprintf(text, sizeof text, "%.0f h", seconds / 3600);
  } else {
    std::snprintf(text, sizeof text, "%.0f d", seconds / 86400);
  }
  return text;
}

std::string in_lower_case(std::string text) {
  for (char& each : text) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return text;
}

bool fits(std::string_view name, std::string_view filter) {
  return filter.empty() || in_lower_case(std::string(name)).find(filter) != std::string::npos;
}

std::string_view style_of(FindingSeverity severity) {
  return severity == FindingSeverity::kError ? kFault : severity == FindingSeverity::kWarning ? kWarning : kSoft;
}

}  // namespace tensorstat::cli::top
