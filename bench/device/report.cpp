#include "bench/device/report.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace tensorstat::bench {
namespace {

// "yes" or "no", if there is a goal.
std::string verdict(double value, const std::string& goal) {
  if (goal.size() < 4) return "";
  double bound = 0;
  std::from_chars(goal.data() + 3, goal.data() + goal.size(), bound);
  return (goal[0] == '<' ? value <= bound : value >= bound) ? "yes" : "no";
}

}  // namespace

Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  const auto quantile = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {quantile(0.5), quantile(0.25), quantile(0.75)};
}

std::vector<std::vector<double>> rounds(int count, const std::vector<std::function<double()>>& contestants) {
  std::vector<std::vector<double>> seconds(contestants.size());
  for (int round = -1; round < count; ++round) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const double took = contestants[i]();
      if (round >= 0) seconds[i].push_back(took);
    }
  }
  return seconds;
}

std::string shown(double value) {
  char text[32];
  const auto end = value >= 100 ? std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 0).ptr
                                : std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 2).ptr;
  return {text, end};
}

std::string shown(const Spread& ratio) {
  return shown(ratio.median) + " (" + shown(ratio.low) + "-" + shown(ratio.high) + ")";
}

void figure(const std::string& name, const Spread& value, const std::string& unit, const std::string& goal) {
  const std::string met = verdict(value.median, goal);
  std::printf("%-44s %s %s%s%s%s\n", name.c_str(), shown(value).c_str(), unit.c_str(), goal.empty() ? "" : ", goal ",
              goal.c_str(), met == "no" ? ", missed" : "");
  std::fflush(stdout);
  const char* path = std::getenv("TENSORSTAT_FIGURES");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return;
  const char* prefix = std::getenv("TENSORSTAT_FIGURE_PREFIX");
  const std::string line =
      (prefix == nullptr ? "" : prefix) + name + '\t' + shown(value) + '\t' + unit + '\t' + goal + '\t' + met + '\n';
  std::fputs(line.c_str(), file);
  std::fclose(file);
}

}  // namespace tensorstat::bench
