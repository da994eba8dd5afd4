// What the measurements find: a line each for a reader on stdout, and for the table in a file.
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

// Seconds of each contestant in each of so many rounds, after one that is not counted. All take their
// turn in every round, so that what else the machine does meets all of them.
std::vector<std::vector<double>> rounds(int count, const std::vector<std::function<double()>>& contestants);

// "0.93 (0.91-0.95)"
std::string shown(const Spread& ratio);
std::string shown(double value);

// A figure under a name such as "fold/float32/of read stream"; `goal` such as ">= 0.95", or empty. Appended, with
// tabs between, to the file that TENSORSTAT_FIGURES names, and there behind TENSORSTAT_FIGURE_PREFIX.
void figure(const std::string& name, const Spread& value, const std::string& unit, const std::string& goal = "");

}  // namespace tensorstat::bench
