#include "stats/show/page/exponents.hpp"

#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <vector>

namespace tensorstat {
namespace {

constexpr std::size_t kMostExponents = std::size_t{1} << 22;  // codes; deflated some 1 MB

const HistoryDetail* exponents_in(const PageSeries& source, std::size_t cell) {
  const HistoryDetail* detail = source.history->detail(*source.series, cell);
  return detail != nullptr && !detail->shares.empty() ? detail : nullptr;
}

// Returns false if the page has not enough room.
bool add_series(std::size_t tensor, std::size_t lane, const PageSeries& source, PageContents& contents) {
  const std::size_t cells = source.series->cells.size();
  int low = INT_MAX, high = INT_MIN;
  bool has_any = false;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const HistoryDetail* detail = exponents_in(source, cell);
    has_any |= detail != nullptr;
    if (detail == nullptr || detail->shares.size() == 1) continue;  // nothing but zeros
    low = std::min(low, detail->lowest);
    high = std::max(high, detail->lowest + static_cast<int>(detail->shares.size()) - 1);
  }
  if (!has_any) return true;
  if (low > high) low = high = 0;
  const auto binades = static_cast<std::size_t>(high - low);
  const std::size_t columns = contents.iterations.size(), begin = contents.exponents.size();
  if (begin + (1 + binades) * columns > kMostExponents) return false;
  contents.exponent_series.push_back({tensor, lane, low, binades});
  contents.exponents.resize(begin + (1 + binades) * columns);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const HistoryDetail* detail = exponents_in(source, cell);
    if (detail == nullptr) continue;
    std::uint8_t* column =
        &contents.exponents[begin + contents.column_of(source.history->iteration(source.series->cells[cell]))];
    for (std::size_t row = 0; row <= binades; ++row) column[row * columns] = 0;
    column[0] = detail->shares[0];
    for (std::size_t row = 1; row < detail->shares.size(); ++row) {
      column[(static_cast<std::size_t>(detail->lowest - low) + row) * columns] = detail->shares[row];
    }
  }
  return true;
}

}  // namespace

void add_exponents(const std::map<std::pair<std::size_t, std::size_t>, PageSeries>& sources, PageContents& contents) {
  std::vector<std::size_t> tensors;  // tensors with findings come first
  std::set<std::size_t> seen;
  for (const PageFinding& finding : contents.words.findings) {
    if (finding.tensor && seen.insert(*finding.tensor).second) tensors.push_back(*finding.tensor);
  }
  for (const auto& [key, source] : sources) {
    if (seen.insert(key.first).second) tensors.push_back(key.first);
  }
  std::size_t left_out = 0;
  for (const std::size_t tensor : tensors) {
    for (auto entry = sources.lower_bound({tensor, 0}); entry != sources.end() && entry->first.first == tensor;
         ++entry) {
      if (!add_series(tensor, entry->first.second, entry->second, contents)) ++left_out;
    }
  }
  if (left_out == 0) return;
  contents.words.notes.push_back("Exponents of " + std::to_string(left_out) +
                                 " tensors and ranks are left out: the page would be too large with them.");
}

}  // namespace tensorstat
