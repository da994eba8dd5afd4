#include "stats/page/contents.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace tensorstat {
namespace {

constexpr Category kPlaneCategories[] = {Category::kL2norm, Category::kAbsmax, Category::kMax, Category::kMin,
                                         Category::kAvg};
// Cells whose values are kept as written: all of a small run; else those of tensors with findings this many iterations
// around, of all tensors one iteration around, and the last iteration.
// A browser takes seconds for the most cells. Beyond the few, a page has one statistic.
constexpr std::size_t kMostCells = std::size_t{1} << 25, kFewCells = std::size_t{1} << 22;
constexpr std::size_t kSmallRun = 20'000, kAround = 50;

std::optional<double> number_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto* whole = std::get_if<std::uint64_t>(value)) return static_cast<double>(*whole);
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  return std::nullopt;
}

PageContents::Fault fault_of(const StatisticsView& statistics) {
  bool is_nan = false, is_plus = false, is_minus = false;
  const auto counted = [&](Category category) { return number_of(statistics.find(category)).value_or(0) > 0; };
  for (const Category category : kPlaneCategories) {
    const auto value = number_of(statistics.find(category));
    if (!value) continue;
    is_nan |= std::isnan(*value);
    if (!std::isinf(*value) || category == Category::kL2norm) continue;  // a norm overflows without any Inf
    (*value > 0 ? is_plus : is_minus) = true;
  }
  if (is_nan || counted(Category::kNanCount)) return PageContents::kNan;
  if (is_plus || counted(Category::kPositiveInfCount)) return PageContents::kPlusInf;
  if (is_minus || counted(Category::kNegativeInfCount)) return PageContents::kMinusInf;
  return PageContents::kNoFault;
}

int weight(std::uint8_t fault) { return fault == PageContents::kNoFault ? 0 : 10 - fault; }

// Where a number stands in an ascending list that has it.
std::size_t place_of(const std::vector<std::uint64_t>& sorted, std::uint64_t number) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
}

void sort_and_thin(std::vector<std::uint64_t>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

bool is_loss(std::string_view name) { return name == "loss" || name == "Loss"; }

// Rows as cells.
class PageFiller {
 public:
  PageFiller(const Record& record, PageContents& contents) : record_(record), contents_(contents) {}

  Status fill() {
    list_places();
    const std::size_t cells = contents_.tensors.size() * contents_.ranks.size() * contents_.iterations.size();
    if (cells > kMostCells) {
      return Error{Code::kInvalid, "a page holds at most " + std::to_string(kMostCells) +
                                       " cells (tensors x ranks x iterations), and this run has " +
                                       std::to_string(cells) + ": name the folder of one rank, or of fewer iterations"};
    }
    contents_.faults.assign(cells, PageContents::kNoFault);
    row_of_.assign(cells, UINT32_MAX);
    std::size_t repeated = 0;
    for (std::uint32_t i = 0; i < record_.rows().size(); ++i) {
      const Seen& row = record_.rows()[i];
      const std::size_t cell = cell_of(row, i);
      const auto fault = fault_of(record_.statistics(row));
      if (row_of_[cell] != UINT32_MAX) {
        ++repeated;
        if (weight(fault) < weight(contents_.faults[cell])) continue;
      }
      row_of_[cell] = i;
      contents_.faults[cell] = fault;
    }
    for (const Category category : kPlaneCategories) {
      if (contents_.planes.empty() || cells <= kFewCells) add_plane(category);
    }
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
  void list_places() {
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool, std::uint32_t>, std::uint32_t> numbers;
    tensor_of_.reserve(record_.rows().size());
    for (const Seen& row : record_.rows()) {
      const auto [at, is_new] = numbers.try_emplace({row.name, row.op_type, row.is_input, row.slot},
                                                    static_cast<std::uint32_t>(contents_.tensors.size()));
      tensor_of_.push_back(at->second);
      contents_.ranks.push_back(row.rank);
      contents_.iterations.push_back(row.iteration);
      if (contents_.ranks.size() % 65'536 == 0) sort_and_thin(contents_.ranks), sort_and_thin(contents_.iterations);
      if (!is_new) continue;
      const auto text = [&](std::uint32_t number) { return std::string(record_.texts()[number]); };
      contents_.tensors.push_back({text(row.op_type), text(row.name),
                                   (row.is_input ? "input." : "output.") + std::to_string(row.slot), text(row.dtype),
                                   text(row.shape)});
      if (!contents_.loss && is_loss(contents_.tensors.back().name)) contents_.loss = at->second;
    }
    sort_and_thin(contents_.ranks);
    sort_and_thin(contents_.iterations);
    contents_.row_count = record_.rows().size();
  }

  std::size_t cell_of(const Seen& row, std::uint32_t number) const {
    return contents_.cell(tensor_of_[number], place_of(contents_.ranks, row.rank),
                          place_of(contents_.iterations, row.iteration));
  }

  const Value* value_of(std::size_t cell, Category category) const {
    if (row_of_[cell] == UINT32_MAX) return nullptr;
    return record_.statistics(record_.rows()[row_of_[cell]]).find(category);
  }

  void add_plane(Category category) {
    PageContents::Plane plane{std::string(name(category)), std::vector<double>(row_of_.size()),
                              std::vector<std::uint8_t>(row_of_.size())};
    std::size_t count = 0;
    for (std::size_t cell = 0; cell < row_of_.size(); ++cell) {
      const auto number = number_of(value_of(cell, category));
      if (!number) continue;
      plane.values[cell] = *number;
      plane.has[cell] = 1;
      ++count;
    }
    if (count == 0) return;
    contents_.measured.push_back(plane.name + " in " + std::to_string(count) + " cells");
    contents_.planes.push_back(std::move(plane));
    categories_.push_back(category);
  }

  // A finding names a tensor by its operator: the first one that holds a fault there, else the first.
  void place_findings() {
    PageWords& words = contents_.words;
    for (PageFinding& finding : words.findings) {
      if (finding.tensor) continue;
      if (&finding == words.findings.data() && words.row < tensor_of_.size()) {
        finding.tensor = tensor_of_[words.row];
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
    std::vector<std::uint8_t> wanted(row_of_.size(), row_of_.size() <= kSmallRun);
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
    for (std::size_t cell = 0; cell < row_of_.size(); ++cell) {
      if (wanted[cell] == 0 || row_of_[cell] == UINT32_MAX) continue;
      PageContents::Exact exact{cell, {}};
      for (const Category category : categories_) {
        const Value* value = value_of(cell, category);
        exact.texts.push_back(value == nullptr ? "" : to_string(*value));
      }
      contents_.exact.push_back(std::move(exact));
    }
  }

  const Record& record_;
  PageContents& contents_;
  std::vector<std::uint32_t> tensor_of_;  // of each row
  std::vector<std::uint32_t> row_of_;     // of each cell
  std::vector<Category> categories_;      // of the planes
};

}  // namespace

Result<PageContents> page_contents(const Record& record, PageWords words) {
  PageContents contents;
  contents.words = std::move(words);
  if (record.rows().empty()) return contents;
  if (const Status filled = PageFiller(record, contents).fill(); !filled) return filled.error();
  return contents;
}

}  // namespace tensorstat
