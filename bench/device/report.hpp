// Reports figures: a line each on stdout for people, and a line in a file for the table.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tensorstat::bench {

// Medians of rounds, and their quartiles.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread(std::vector<double> rounds);

// Seconds of each contestant in each of `count` rounds, after one uncounted round. All contestants run in every round,
// so that noise of the machine affects all alike.
std::vector<std::vector<double>> rounds(int count, const std::vector<std::function<double()>>& contestants);

// "0.93 (0.91-0.95)"
std::string shown(const Spread& ratio);
std::string shown(double value);

// Prints a figure with a name such as "fold/float32/of read stream". `goal` is such as ">= 0.95", or empty. Also
// appends it, separated by tabs, to the file in TENSORSTAT_FIGURES, with TENSORSTAT_FIGURE_PREFIX before the name.
void figure(const std::string& name, const Spread& value, const std::string& unit, const std::string& goal = "");

}  // namespace tensorstat::bench
