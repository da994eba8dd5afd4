#include "stats/page/contents.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace tensorstat {
namespace {

// What a page shows of a cell, and where the first comes first.
struct PlaneStatistic {
  std::string_view name;
  HistoryBit bit;
};
constexpr PlaneStatistic kPlaneStatistics[] = {
    {"l2norm", kHasL2norm}, {"absmax", kHasAbsmax}, {"max", kHasMax}, {"min", kHasMin}, {"avg", kHasAvg}};

// Cells whose values are kept as written: all of a small run; else those of tensors with findings this many iterations
// around, of all tensors one iteration around, and the last iteration.
// A browser takes seconds for the most cells. Beyond the few, a page has one statistic.
constexpr std::size_t kMostCells = std::size_t{1} << 25, kFewCells = std::size_t{1} << 22;
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

PageContents::Fault fault_of(const History& history, const HistoryCell& cell) {
  const HistoryKind& kind = history.kinds()[cell.kind];
  if (history.has_nan(cell) || std::isnan(cell.l2norm) || std::isnan(cell.avg)) return PageContents::kNan;
  bool is_plus = kind.positive_inf != 0, is_minus = kind.negative_inf != 0;
  for (const double value : {cell.max, cell.min, cell.avg}) {  // a norm overflows without any Inf
    if (std::isinf(value)) (value > 0 ? is_plus : is_minus) = true;
  }
  return is_plus ? PageContents::kPlusInf : is_minus ? PageContents::kMinusInf : PageContents::kNoFault;
}

// As a csv has it. Integers are kept as binary64.
std::string text_of_value(double value, bool is_integer) {
  if (is_integer && std::fabs(value) > 0x1p53) return to_string(Value(value)) + " (rounded)";
  return to_string(Value(value));
}

int weight(std::uint8_t fault) { return fault == PageContents::kNoFault ? 0 : 10 - fault; }

// Where a number stands in an ascending list that has it.
std::size_t place_of(const std::vector<std::uint64_t>& sorted, std::uint64_t number) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
}

bool is_loss(std::string_view name) { return name == "loss" || name == "Loss"; }

// The cells of a history as those of a page.
class PageFiller {
 public:
  PageFiller(const History& history, PageContents& contents) : history_(history), contents_(contents) {}

  Status fill() {
    list_tensors();
    contents_.ranks.assign(history_.ranks().begin(), history_.ranks().end());
    contents_.iterations = history_.iterations();
    contents_.row_count = history_.row_count();
    const std::size_t cells = contents_.tensors.size() * contents_.ranks.size() * contents_.iterations.size();
    if (cells > kMostCells) {
      return Error{Code::kInvalid, "a page holds at most " + std::to_string(kMostCells) +
                                       " cells (tensors x ranks x iterations), and this run has " +
                                       std::to_string(cells) + ": name the folder of one rank, or of fewer iterations"};
    }
    add_planes(cells);
    const std::size_t repeated = fill_cells(cells);
    if (cells > kFewCells) {
      contents_.words.notes.push_back("The run has more than 4 million cells: the page has " +
                                      (contents_.planes.empty() ? "no statistic" : contents_.planes.front().name) +
                                      " alone.");
    }
    if (repeated != 0) {
      contents_.words.notes.push_back(std::to_string(repeated) +
                                      " rows are of a tensor that has a row in the same iteration already; of those "
                                      "the worst is shown, else the last.");
    }
    place_findings();
    keep_exact();
    return Status();
  }

 private:
  // In the order of execution. Calls of one name are one tensor of the page.
  void list_tensors() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool, std::uint32_t>, std::uint32_t> numbers;
    tensor_of_.assign(history_.tensors().size(), UINT32_MAX);
    for (const HistorySeries& series : history_.series()) {
      const HistoryTensor& tensor = history_.tensors()[series.tensor];
      const auto [at, is_new] = numbers.try_emplace({tensor.op_name, tensor.op_type, tensor.is_input, tensor.slot},
                                                    static_cast<std::uint32_t>(contents_.tensors.size()));
      tensor_of_[series.tensor] = at->second;
      if (!is_new) continue;
      const HistoryKind& kind = history_.kinds()[series.cells.front().kind];
      const auto text = [&](std::uint32_t number) { return std::string(history_.texts()[number]); };
      contents_.tensors.push_back({text(tensor.op_type), text(tensor.op_name),
                                   (tensor.is_input ? "input." : "output.") + std::to_string(tensor.slot),
                                   text(kind.dtype), text(kind.shape)});
      if (!contents_.loss && is_loss(contents_.tensors.back().name)) contents_.loss = at->second;
    }
  }

  // Of the statistics that some row has: all of a small run, else the first.
  void add_planes(std::size_t cells) {
    std::uint16_t measured = 0;
    for (const HistoryKind& kind : history_.kinds()) measured |= kind.measured;
    for (const PlaneStatistic& statistic : kPlaneStatistics) {
      if ((measured & statistic.bit) == 0 || (cells > kFewCells && !contents_.planes.empty())) continue;
      contents_.planes.push_back(
          {std::string(statistic.name), std::vector<double>(cells), std::vector<std::uint8_t>(cells)});
      bits_.push_back(statistic.bit);
    }
  }

  // Returns how many rows had a cell that another row had, too.
  std::size_t fill_cells(std::size_t cells) {
    contents_.faults.assign(cells, PageContents::kNoFault);
    has_row_.assign(cells, false);
    std::size_t repeated = 0;
    for (const HistorySeries& series : history_.series()) {
      const std::size_t rank = place_of(contents_.ranks, series.rank);
      std::size_t iteration = 0;
      for (const HistoryCell& each : series.cells) {
        while (contents_.iterations[iteration] != history_.iteration(each)) ++iteration;  // they ascend
        const std::size_t cell = contents_.cell(tensor_of_[series.tensor], rank, iteration);
        const auto fault = fault_of(history_, each);
        if (has_row_[cell]) {
          ++repeated;
          if (weight(fault) < weight(contents_.faults[cell])) continue;
        }
        has_row_[cell] = true;
        contents_.faults[cell] = fault;
        for (std::size_t plane = 0; plane < bits_.size(); ++plane) {
          const bool has = history_.kinds()[each.kind].has(bits_[plane]);
          contents_.planes[plane].has[cell] = has;
          contents_.planes[plane].values[cell] = has ? value_of(history_, each, bits_[plane]) : 0;
        }
      }
    }
    for (const PageContents::Plane& plane : contents_.planes) {
      const auto count = std::count(plane.has.begin(), plane.has.end(), 1);
      contents_.measured.push_back(plane.name + " in " + std::to_string(count) + " cells");
    }
    return repeated;
  }

  // A finding names a tensor by its operator: the first one that holds a fault there, else the first.
  void place_findings() {
    PageWords& words = contents_.words;
    for (PageFinding& finding : words.findings) {
      if (finding.tensor) continue;
      if (&finding == words.findings.data() && words.tensor < tensor_of_.size()) {
        finding.tensor = tensor_of_[words.tensor];
        continue;
      }
      for (std::size_t tensor = 0; tensor < contents_.tensors.size(); ++tensor) {
        const PageTensor& each = contents_.tensors[tensor];
        if (each.name != finding.op_name || (!finding.io.empty() && each.io != finding.io)) continue;
        if (!finding.tensor) finding.tensor = tensor;
        const auto cell = first_cell(finding, tensor);
        if (cell && contents_.faults[*cell] != PageContents::kNoFault) {
          finding.tensor = tensor;
          break;
        }
      }
    }
  }

  std::optional<std::size_t> first_cell(const PageFinding& finding, std::size_t tensor) const {
    if (!finding.first_iteration) return std::nullopt;
    const std::size_t rank = place_of(contents_.ranks, finding.rank.value_or(contents_.ranks.front()));
    const std::size_t at = place_of(contents_.iterations, *finding.first_iteration);
    if (rank == contents_.ranks.size() || at == contents_.iterations.size()) return std::nullopt;
    return contents_.cell(tensor, rank, at);
  }

  void keep_exact() {
    const std::size_t iterations = contents_.iterations.size();
    std::vector<std::uint8_t> wanted(has_row_.size(), has_row_.size() <= kSmallRun);
    const auto want = [&](std::size_t tensor, std::size_t middle, std::size_t around) {
      for (std::size_t rank = 0; rank < contents_.ranks.size(); ++rank) {
        for (std::size_t at = middle - std::min(middle, around); at < std::min(iterations, middle + around + 1); ++at) {
          wanted[contents_.cell(tensor, rank, at)] = 1;
        }
      }
    };
    for (std::size_t tensor = 0; tensor < contents_.tensors.size(); ++tensor) {
      want(tensor, iterations - 1, 0);
      if (contents_.words.findings.empty() || !contents_.words.findings.front().first_iteration) continue;
      want(tensor, place_of(contents_.iterations, *contents_.words.findings.front().first_iteration), 1);
    }
    for (const PageFinding& finding : contents_.words.findings) {
      if (finding.tensor && finding.first_iteration) {
        want(*finding.tensor, place_of(contents_.iterations, *finding.first_iteration), kAround);
      }
    }
    for (std::size_t cell = 0; cell < has_row_.size(); ++cell) {
      if (wanted[cell] == 0 || !has_row_[cell]) continue;
      PageContents::Exact exact{cell, {}};
      const std::string& dtype = contents_.tensors[cell / (contents_.ranks.size() * iterations)].dtype;
      const bool is_integer = dtype.starts_with("int") || dtype.starts_with("uint");
      for (const PageContents::Plane& plane : contents_.planes) {
        exact.texts.push_back(plane.has[cell] != 0 ? text_of_value(plane.values[cell], is_integer) : "");
      }
      contents_.exact.push_back(std::move(exact));
    }
  }

  const History& history_;
  PageContents& contents_;
  std::vector<std::uint32_t> tensor_of_;  // of each tensor of the history
  std::vector<bool> has_row_;             // of each cell
  std::vector<HistoryBit> bits_;          // of the planes
};

}  // namespace

Result<PageContents> page_contents(const History& history, PageWords words) {
  PageContents contents;
  contents.words = std::move(words);
  if (history.row_count() == 0) return contents;
  if (const Status filled = PageFiller(history, contents).fill(); !filled) return filled.error();
  return contents;
}

}  // namespace tensorstat
