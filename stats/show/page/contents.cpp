#include "stats/show/page/contents.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tensorstat/catalog.hpp>
#include <tuple>
#include <utility>

#include "stats/show/page/exponents.hpp"
#include "stats/show/page/lane_differences.hpp"

namespace tensorstat {
namespace {

// The statistics of a cell on a page, in order of importance. The counts of casts follow them.
struct PlaneStatistic {
  std::string_view name;
  HistoryBit bit;        // 0: a count of casts
  std::size_t cast = 0;  // an index into kCastCounts
};
constexpr PlaneStatistic kPlaneStatistics[] = {
    {"l2norm", kHasL2norm}, {"absmax", kHasAbsmax}, {"max", kHasMax}, {"min", kHasMin}, {"avg", kHasAvg}};
constexpr HistoryBit kIsCast{};

// Exact texts are kept for all cells of a run up to kSmallRun cells. In a larger run they are kept for tensors with
// findings within kAround iterations, for all tensors within one iteration, and for the last iteration. A browser takes
// seconds to draw kMostCells. Above kFewCells a page has one statistic.
constexpr std::size_t kMostCells = std::size_t{1} << 24, kFewCells = std::size_t{1} << 22;
constexpr std::size_t kSmallRun = 20'000, kAround = 50;

double value_of(const History& history, const HistoryCell& cell, HistoryBit bit) {
  switch (bit) {
    case kHasL2norm:
      return cell.l2norm;
    case kHasAbsmax:
      return history.absmax(cell);
    case kHasMax:
      return cell.max;
    case kHasMin:
      return cell.min;
    default:
      return cell.avg;
  }
}

// nullopt: it was not measured.
std::optional<double> value_in(const History& history, const HistorySeries& series, std::size_t index,
                               const PlaneStatistic& statistic) {
  const HistoryCell& cell = series.cells[index];
  if (statistic.bit != kIsCast) {
    if (!history.kinds()[cell.kind].has(statistic.bit)) return std::nullopt;
    return value_of(history, cell, statistic.bit);
  }
  const HistoryDetail* detail = history.detail(series, index);
  if (detail == nullptr || std::isnan(detail->casts[statistic.cast])) return std::nullopt;
  return detail->casts[statistic.cast];
}

// With kAlsoInf.
std::uint8_t fault_of(const History& history, const HistoryCell& cell) {
  const HistoryKind& kind = history.kinds()[cell.kind];
  const bool has_inf = history.has_inf(cell);
  if (history.has_nan(cell)) return has_inf ? PageContents::kNan | PageContents::kAlsoInf : PageContents::kNan;
  if (!has_inf) return PageContents::kNoFault;
  const bool is_minus = kind.has(kShowsMinusInf) && !kind.has(kShowsPlusInf);
  return is_minus ? PageContents::kMinusInf : PageContents::kPlusInf;
}

// As a csv has it. Integers are kept as binary64.
std::string text_of_value(double value, bool is_integer) {
  if (is_integer && std::fabs(value) >= 0x1p53) return to_string(Value(value)) + " (rounded)";
  return to_string(Value(value));
}

int weight(std::uint8_t fault) { return fault == PageContents::kNoFault ? 0 : 10 - (fault & 7); }

bool is_loss(std::string_view name) { return name == "loss" || name == "Loss"; }

// Converts the cells of histories to those of a page.
class PageFiller {
 public:
  PageFiller(const std::vector<const History*>& runs, PageContents& contents) : runs_(runs), contents_(contents) {}

  void fill() {
    list_tensors();
    std::vector<std::uint64_t> all;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (const std::uint32_t rank : runs_[run]->ranks()) contents_.lanes.push_back({run, rank});
      all.insert(all.end(), runs_[run]->iterations().begin(), runs_[run]->iterations().end());
      contents_.row_count += runs_[run]->row_count();
    }
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    const std::size_t series = contents_.tensors.size() * contents_.lanes.size();
    while (series * ((all.size() + contents_.pooled - 1) / contents_.pooled) > kMostCells &&
           contents_.pooled < all.size()) {
      ++contents_.pooled;
    }
    for (std::size_t i = 0; i < all.size(); i += contents_.pooled) contents_.iterations.push_back(all[i]);
    const std::size_t cells = series * contents_.iterations.size();
    add_planes(cells);
    find_other_sizes();
    std::size_t repeated = 0;
    contents_.faults.assign(cells, PageContents::kNoFault);
    has_row_.assign(cells, false);
    digests_.assign(contents_.pooled == 1 && has_digests() ? cells : 0, 0);
    for (std::size_t run = 0; run < runs_.size(); ++run) repeated += fill_cells(run);
    for (std::size_t cell = 0; cell < cells; ++cell) {
      if (has_row_[cell]) contents_.faults[cell] |= PageContents::kHasRow;
    }
    for (const PageContents::Plane& plane : contents_.planes) {
      const auto count = std::count(plane.has.begin(), plane.has.end(), 1);
      contents_.measured.push_back(plane.name + " in " + std::to_string(count) + " cells");
    }
    const LaneDifferences differences(runs_.size(), has_more_statistics_, digests_, contents_);
    differences.mark();
    if (runs_.size() == 2) differences.tell();
    say_what_was_left_out(cells, repeated);
    place_findings();
    if (contents_.pooled == 1) keep_exact();
    add_exponents();
  }

 private:
  // Lists tensors in the order of execution. Calls with the same name are one tensor of the page.
  void list_tensors() {
    using Name = std::tuple<std::string_view, std::string_view, bool, std::uint32_t>;
    std::map<Name, std::uint32_t> numbers;
    for (const History* history : runs_) {
      std::vector<std::uint32_t>& tensor_of = tensor_of_.emplace_back(history->tensors().size(), UINT32_MAX);
      for (const HistorySeries& series : history->series()) {
        const HistoryTensor& tensor = history->tensors()[series.tensor];
        const auto [entry, is_new] = numbers.try_emplace(
            {history->op_name(series.tensor), history->op_type(series.tensor), tensor.is_input, tensor.slot},
            static_cast<std::uint32_t>(contents_.tensors.size()));
        tensor_of[series.tensor] = entry->second;
        if (!is_new) continue;
        const HistoryKind& kind = history->kinds()[series.cells.front().kind];
        const auto text = [&](std::uint32_t number) { return std::string(history->texts()[number]); };
        contents_.tensors.push_back({.type = text(tensor.op_type),
                                     .name = text(tensor.op_name),
                                     .io = (tensor.is_input ? "input." : "output.") + std::to_string(tensor.slot),
                                     .dtype = text(kind.dtype),
                                     .shape = text(kind.shape)});
        if (!contents_.loss && is_loss(contents_.tensors.back().name)) contents_.loss = entry->second;
      }
    }
  }

  void find_other_sizes() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes(contents_.tensors.size(), {UINT64_MAX, 0});
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (const HistorySeries& series : runs_[run]->series()) {
        auto& [least, most] = sizes[tensor_of_[run][series.tensor]];
        for (const HistoryCell& cell : series.cells) {
          const HistoryKind& kind = runs_[run]->kinds()[cell.kind];
          if (!kind.has(kHasCount)) continue;
          least = std::min(least, kind.count);
          most = std::max(most, kind.count);
        }
      }
    }
    for (std::size_t tensor = 0; tensor < sizes.size(); ++tensor) {
      const auto& [least, most] = sizes[tensor];
      if (least < most) contents_.tensors[tensor].most_elements = most;
    }
  }

  bool has_digests() const {
    return std::ranges::any_of(runs_, [](const History* run) {
      return std::ranges::any_of(run->series(), [](const HistorySeries& each) { return !each.digests.empty(); });
    });
  }

  // Adds the statistics that some row has: all of a small run, else the first. Without any, the map still has faults.
  void add_planes(std::size_t cells) {
    std::uint16_t measured = 0;
    for (const History* history : runs_) {
      for (const HistoryKind& kind : history->kinds()) measured |= kind.measured;
    }
    for (const PlaneStatistic& statistic : kPlaneStatistics) {
      if ((measured & statistic.bit) != 0) statistics_.push_back(statistic);
    }
    for (std::size_t cast = 0; cast < std::size(kCastCounts); ++cast) {
      const auto has = [&](const HistoryDetail& detail) { return !std::isnan(detail.casts[cast]); };
      if (std::ranges::any_of(runs_, [&](const History* run) { return std::ranges::any_of(run->details(), has); })) {
        statistics_.push_back({name(kCastCounts[cast]), kIsCast, cast});
      }
    }
    if (statistics_.empty()) statistics_.push_back(kPlaneStatistics[0]);
    has_more_statistics_ = cells > kFewCells && statistics_.size() > 1;
    if (has_more_statistics_) statistics_.resize(1);
    for (const PlaneStatistic& statistic : statistics_) {
      contents_.planes.push_back(
          {std::string(statistic.name), std::vector<double>(cells), std::vector<std::uint8_t>(cells)});
    }
  }

  // Decides which of two values a shared cell shows: NaN, else the larger absolute value; for min, the lower value.
  static bool is_worse(double value, double than, HistoryBit bit) {
    if (std::isnan(value) || std::isnan(than)) return std::isnan(value);
    return bit == kHasMin ? value < than : bit == kHasMax ? value > than : std::fabs(value) > std::fabs(than);
  }

  // Returns how many rows had a cell that another row had, too.
  std::size_t fill_cells(std::size_t run) {
    const History& history = *runs_[run];
    std::size_t repeated = 0;
    for (const HistorySeries& series : history.series()) {
      const std::size_t lane = *contents_.lane_of(run, series.rank);
      for (std::size_t index = 0; index < series.cells.size(); ++index) {
        const HistoryCell& each = series.cells[index];
        const std::size_t cell =
            contents_.cell(tensor_of_[run][series.tensor], lane, contents_.column_of(history.iteration(each)));
        const auto fault = fault_of(history, each);
        const bool is_shared = has_row_[cell];
        if (is_shared && contents_.pooled == 1) {
          ++repeated;
          if (weight(fault) < weight(contents_.faults[cell])) continue;
        }
        has_row_[cell] = true;
        if (weight(fault) >= weight(contents_.faults[cell])) contents_.faults[cell] = fault;
        if (!digests_.empty()) digests_[cell] = series.digests.empty() ? 0 : series.digests[index];
        for (std::size_t plane = 0; plane < statistics_.size(); ++plane) {
          PageContents::Plane& to = contents_.planes[plane];
          const auto value = value_in(history, series, index, statistics_[plane]);
          if (is_shared && contents_.pooled > 1 &&
              (!value || (to.has[cell] != 0 && !is_worse(*value, to.values[cell], statistics_[plane].bit)))) {
            continue;
          }
          to.has[cell] = value.has_value();
          to.values[cell] = value.value_or(0);
        }
      }
    }
    return repeated;
  }

  void say_what_was_left_out(std::size_t cells, std::size_t repeated) {
    std::vector<std::string>& notes = contents_.words.notes;
    if (contents_.pooled > 1) {
      notes.push_back(
          "The run has more than 16 million cells: each column of this page has " + std::to_string(contents_.pooled) +
          " iterations, and shows the worst of them: NaN, else Inf, else the greatest size. Nothing is kept "
          "as it was written.");
    }
    if (cells > kFewCells) {
      notes.push_back("The run has more than 4 million cells: the page has " + contents_.planes.front().name +
                      " alone.");
    }
    if (repeated != 0) {
      notes.push_back(
          std::to_string(repeated) +
          " rows are of a tensor that has a row in the same iteration already; of those the worst is shown, "
          "else the last.");
    }
  }

  // A finding names a tensor by its operator: the first one that holds a fault there, else the first.
  void place_findings() {
    PageWords& words = contents_.words;
    for (PageFinding& finding : words.findings) {
      if (finding.tensor) continue;
      if (&finding == words.findings.data() && words.tensor < tensor_of_[finding.run].size()) {
        finding.tensor = tensor_of_[finding.run][words.tensor];
        continue;
      }
      for (std::size_t tensor = 0; tensor < contents_.tensors.size(); ++tensor) {
        const PageTensor& each = contents_.tensors[tensor];
        if (each.name != finding.op_name || (!finding.io.empty() && each.io != finding.io)) continue;
        if (!finding.tensor) finding.tensor = tensor;
        const auto cell = first_cell(finding, tensor);
        if (cell && (contents_.faults[*cell] & 7) != 0) {
          finding.tensor = tensor;
          break;
        }
      }
    }
  }

  std::optional<std::size_t> first_cell(const PageFinding& finding, std::size_t tensor) const {
    if (!finding.first_iteration) return std::nullopt;
    const auto lane = finding.rank ? contents_.lane_of(finding.run, *finding.rank) : std::optional<std::size_t>(0);
    if (!lane) return std::nullopt;
    return contents_.cell(tensor, *lane, contents_.column_of(*finding.first_iteration));
  }

  void keep_exact() {
    const std::size_t iterations = contents_.iterations.size();
    std::vector<std::uint8_t> wanted(has_row_.size(), has_row_.size() <= kSmallRun);
    const auto want = [&](std::size_t tensor, std::size_t middle, std::size_t around) {
      for (std::size_t lane = 0; lane < contents_.lanes.size(); ++lane) {
        for (std::size_t column = middle - std::min(middle, around); column < std::min(iterations, middle + around + 1);
             ++column) {
          wanted[contents_.cell(tensor, lane, column)] = 1;
        }
      }
    };
    for (std::size_t tensor = 0; tensor < contents_.tensors.size(); ++tensor) {
      want(tensor, iterations - 1, 0);
      if (contents_.words.findings.empty() || !contents_.words.findings.front().first_iteration) continue;
      want(tensor, contents_.column_of(*contents_.words.findings.front().first_iteration), 1);
    }
    if (const auto parting = contents_.words.parting) {
      want(*parting / iterations / contents_.lanes.size(), *parting % iterations, kAround);
    }
    for (const PageFinding& finding : contents_.words.findings) {
      if (finding.tensor && finding.first_iteration) {
        want(*finding.tensor, contents_.column_of(*finding.first_iteration), kAround);
      }
    }
    for (std::size_t cell = 0; cell < has_row_.size(); ++cell) {
      if (wanted[cell] == 0 || !has_row_[cell]) continue;
      PageContents::Exact exact{cell, {}};
      const std::string& dtype = contents_.tensors[cell / (contents_.lanes.size() * iterations)].dtype;
      const bool is_integer = dtype.starts_with("int") || dtype.starts_with("uint");
      for (const PageContents::Plane& plane : contents_.planes) {
        exact.texts.push_back(plane.has[cell] != 0 ? text_of_value(plane.values[cell], is_integer) : "");
      }
      contents_.exact.push_back(std::move(exact));
    }
  }

  void add_exponents() {
    std::map<std::pair<std::size_t, std::size_t>, PageSeries> sources;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      for (const HistorySeries& series : runs_[run]->series()) {
        if (series.details.empty()) continue;
        sources.try_emplace({tensor_of_[run][series.tensor], *contents_.lane_of(run, series.rank)},
                            PageSeries{runs_[run], &series});
      }
    }
    tensorstat::add_exponents(sources, contents_);
  }

  const std::vector<const History*>& runs_;
  PageContents& contents_;
  std::vector<std::vector<std::uint32_t>> tensor_of_;  // of each run, of each tensor of its history
  std::vector<bool> has_row_;                          // of each cell
  std::vector<std::uint64_t> digests_;                 // of each cell, as HistorySeries has them; empty: there are none
  std::vector<PlaneStatistic> statistics_;             // of the planes
  bool has_more_statistics_ = false;                   // which a large run's page leaves out
};

}  // namespace

std::optional<std::size_t> PageContents::lane_of(std::size_t run, std::uint64_t rank) const {
  const auto place =
      std::ranges::find_if(lanes, [&](const Lane& each) { return each.run == run && each.rank == rank; });
  return place == lanes.end() ? std::nullopt : std::optional(static_cast<std::size_t>(place - lanes.begin()));
}

std::size_t PageContents::column_of(std::uint64_t iteration) const {
  const auto after = std::ranges::upper_bound(iterations, iteration);
  return after == iterations.begin() ? 0 : static_cast<std::size_t>(after - iterations.begin()) - 1;
}

PageContents page_contents(const std::vector<const History*>& runs, PageWords words,
                           const std::vector<std::string>& names) {
  PageContents contents;
  contents.words = std::move(words);
  contents.runs = names;
  if (std::ranges::any_of(runs, [](const History* run) { return run->row_count() != 0; })) {
    PageFiller(runs, contents).fill();
  }
  return contents;
}

}  // namespace tensorstat
