#include "stats/data/rows/monitors/monitor_rows.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/rows/column.hpp"
#include "stats/data/rows/csv/csv_fields.hpp"
#include "stats/data/rows/csv/csv_value.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kMsprobeHeading = "vpp_stage,name,step";
constexpr std::string_view kLogFile = "nvdlfw_inspect_globalrank-", kLogFolder = "nvdlfw_inspect_statistics_logs";
constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;

struct Word {
  std::string_view word;
  Category category;
};
constexpr Word kMsprobeWords[] = {{"min", Category::kMin},
                                  {"max", Category::kMax},
                                  {"mean", Category::kAvg},
                                  {"norm", Category::kL2norm},
                                  {"nans", Category::kNanCount}};
constexpr Word kInspectWords[] = {{"min", Category::kMin},
                                  {"max", Category::kMax},
                                  {"mean", Category::kAvg},
                                  {"l1_norm", Category::kL1norm},
                                  {"l2_norm", Category::kL2norm},
                                  {"cur_amax", Category::kAbsmax},
                                  {"dynamic_range", Category::kDynamicRange}};
// Words that a tensor's name ends in.
constexpr std::string_view kInspectTensors[] = {"activation", "gradient", "weight", "output", "wgrad", "dgrad"};

template <typename Words>
const Word* found_in(const Words& words, std::string_view word) {
  const auto* entry = std::ranges::find(words, word, &Word::word);
  return entry == std::end(words) ? nullptr : entry;
}

// The number behind a word of the path's last two parts; 0 without it.
std::uint64_t rank_in(const std::string& path, std::string_view word) {
  const std::filesystem::path whole(path);
  for (const std::string& part : {whole.filename().string(), whole.parent_path().filename().string()}) {
    const std::size_t offset = part.rfind(word);
    if (offset == part.npos) continue;
    const std::string_view rest = std::string_view(part).substr(offset + word.size());
    const auto rank = whole_number(rest.substr(0, std::min(rest.find_first_not_of("0123456789"), rest.size())));
    if (rank && *rank <= column_named("rank")->greatest) return *rank;
  }
  return 0;
}

// "grad_unreduced" of "grad_unreduced_0-9.csv".
std::string monitored_in(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  const std::size_t cut = name.rfind('_');
  const bool has_steps = cut != name.npos && name.find_first_not_of("0123456789-", cut + 1) == name.npos;
  return has_steps ? name.substr(0, cut) : name;
}

std::string type_of(std::string_view monitored) {
  if (monitored.starts_with("param")) return "Parameter";
  return monitored.find("grad") != monitored.npos && !monitored.starts_with("actv") ? "Gradient"
                                                                                    : std::string(monitored);
}

class MonitorReader {
 public:
  MonitorReader(std::string path, const NextPiece& next, const EachRow& each, GrowingRows* growing)
      : path_(std::move(path)), next_(next), each_(each), growing_(growing) {}
  virtual ~MonitorReader() = default;

  Result<RowsRead> run() {
    read_.columns = {"rank", "iteration"};
    while (true) {
      const std::size_t end = buffer_.find('\n', at_);
      if (end == buffer_.npos) {
        buffer_.erase(0, std::exchange(at_, 0));
        if (buffer_.size() > kMostLineBytes) return failure("a line longer than 1 MiB");
        const auto more = next_(buffer_);
        if (!more) return more.error();
        if (*more) continue;
        break;
      }
      ++line_;
      std::string_view text(buffer_.data() + at_, end - at_);
      if (text.ends_with('\r')) text.remove_suffix(1);
      if (Status taken = take(text, end + 1 - at_); !taken) return taken.error();
      at_ = end + 1;
    }
    if (!growing_ || is_quiet()) {
      if (Status ended = at_end(); !ended) return ended.error();
    }
    if (growing_ || buffer_.empty()) return read_;
    ++line_;
    return failure(kUnendedLine);  // its last number may be the beginning of another one
  }

 protected:
  // A line; `bytes` with its end.
  virtual Status take(std::string_view line, std::size_t bytes) = 0;
  virtual Status at_end() { return {}; }

  Error failure(std::string_view what) const {
    return {Code::kUnreadable, printable(path_) + ", line " + std::to_string(line_) + ": " + std::string(what)};
  }
  Status give(Row row) {
    row.shape.clear();
    for (const Category category : row.statistics.categories) {
      if (std::ranges::count(read_.categories, category) == 0) read_.categories.push_back(category);
    }
    ++read_.row_count;
    return each_(std::move(row));
  }
  static void add(Row& row, Category category, std::string_view text) {
    auto value = value_from(text, kind(category), ElementKind::kReal, value_of(Dialect::kOurs));
    if (!value || std::holds_alternative<std::monostate>(*value)) return;
    row.statistics.categories.push_back(category);
    row.statistics.values.push_back(*std::move(value));
  }

  const std::string path_;
  GrowingRows* growing() const { return growing_; }

 private:
  // Nobody has written for a second.
  bool is_quiet() const {
    std::error_code fault;
    const auto written = std::filesystem::last_write_time(path_, fault);
    return fault || std::filesystem::file_time_type::clock::now() - written > std::chrono::seconds(1);
  }

  const NextPiece& next_;
  const EachRow& each_;
  GrowingRows* const growing_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 0;
  RowsRead read_;
};

class MsprobeReader final : public MonitorReader {
 public:
  using MonitorReader::MonitorReader;

 private:
  Status take(std::string_view line, std::size_t bytes) override {
    Fields cut;
    const std::string whole = std::string(line) + "\n";
    const CutFault fault = cut_record(whole, cut);
    if (!fault.what.empty()) return failure(fault.what);
    if (heading_.empty()) {
      for (const std::string_view each : cut.views) heading_.emplace_back(each);
      if (growing() && growing()->offset == 0) growing()->heading = whole, growing()->offset = bytes;
      return {};
    }
    if (cut.views.size() != heading_.size()) {
      return failure(std::to_string(cut.views.size()) + " fields where the heading has " +
                     std::to_string(heading_.size()));
    }
    Row row;
    row.identity.op_type = type_;
    row.identity.set("rank", rank_);
    for (std::size_t i = 0; i < heading_.size(); ++i) {
      const std::string_view text = cut.views[i];
      if (heading_[i] == "name") {
        row.identity.op_name += text;
      } else if (heading_[i] == "vpp_stage" && text != "0") {
        row.identity.op_name = "vpp" + std::string(text) + "." + row.identity.op_name;
      } else if (heading_[i] == "step") {
        const auto step = whole_number(text);
        if (!step) return failure("step is \"" + shown(text) + "\", not a whole number");
        row.identity.set("iteration", *step);
      } else if (const Word* word = found_in(kMsprobeWords, heading_[i])) {
        // A count comes as "3.0", too: pandas makes floats of a column with a missing value.
        add(row, word->category,
            text.ends_with(".0") && word->category == Category::kNanCount ? text.substr(0, text.size() - 2) : text);
      }
    }
    if (row_kind(type_) != RowKind::kParameter) row.identity.op_name += "/" + monitored_;
    if (growing()) growing()->offset += bytes;
    return give(std::move(row));
  }

  std::vector<std::string> heading_;
  const std::string monitored_ = monitored_in(path_), type_ = type_of(monitored_);
  const std::uint64_t rank_ = rank_in(path_, "-rank");
};

class InspectReader final : public MonitorReader {
 public:
  using MonitorReader::MonitorReader;

 private:
  // Other lines of the log, and other statistics, say nothing of a tensor.
  Status take(std::string_view line, std::size_t bytes) override {
    const std::size_t iteration_at = line.find("iteration="), value_at = line.find("value=");
    const std::size_t dash = line.find(" - ");
    const auto skip = [&] {
      waiting_bytes_ += bytes;
      return Status();
    };
    if (value_at == line.npos || iteration_at == line.npos || iteration_at > value_at) return skip();
    std::string_view name = line.substr(0, iteration_at), number = line.substr(iteration_at + 10);
    if (dash < iteration_at) name.remove_prefix(dash + 3);
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    number = number.substr(0, number.find_first_of(" \t"));
    std::uint64_t iteration = 0;
    const auto [stop, fault] = std::from_chars(number.data(), number.data() + number.size(), iteration);
    if (fault != std::errc{} || stop != number.data() + number.size()) return failure("iteration is no whole number");
    for (const std::string_view tensor : kInspectTensors) {
      const std::size_t offset = name.rfind("_" + std::string(tensor) + "_");
      if (offset == name.npos) continue;
      const Word* word = found_in(kInspectWords, name.substr(offset + tensor.size() + 2));
      const std::string_view whole = name.substr(0, offset + tensor.size() + 1), value = line.substr(value_at + 6);
      if (whole != row_.identity.op_name || iteration != iteration_) {
        if (Status ended = at_end(); !ended) return ended;
        iteration_ = iteration;
        row_.identity.op_name = whole;
        row_.identity.op_type = tensor == "weight" ? "Parameter" : tensor == "wgrad" ? "Gradient" : tensor;
        row_.identity.set("rank", rank_);
        row_.identity.set("iteration", iteration);
      }
      if (word != nullptr && value != "0.0000" && value != "-0.0000") add(row_, word->category, value);
      return skip();
    }
    return skip();
  }

  Status at_end() override {
    if (growing()) growing()->offset += waiting_bytes_;
    waiting_bytes_ = 0;
    Row row = std::exchange(row_, {});
    return row.statistics.categories.empty() ? Status() : give(std::move(row));
  }

  Row row_;  // the tensor of the last lines
  std::uint64_t iteration_ = 0;
  std::size_t waiting_bytes_ = 0;  // of the lines that are in no row yet
  const std::uint64_t rank_ = rank_in(path_, kLogFile);
};

}  // namespace

std::optional<Monitor> monitor_of(std::string_view beginning) {
  if (beginning.starts_with(kMsprobeHeading)) return Monitor::kMsprobe;
  const std::string_view line = beginning.substr(0, beginning.find('\n'));
  const std::size_t iteration = line.find("iteration=");
  if (line.starts_with("INFO - ") && iteration != line.npos && line.find("value=", iteration) != line.npos) {
    return Monitor::kInspect;
  }
  return std::nullopt;
}

bool is_file_of_monitor(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string name = whole.filename().string(), folder = whole.parent_path().filename().string();
  if (folder == kLogFolder) return name.starts_with(kLogFile) && name.ends_with(".log");
  if (!name.ends_with(".csv") || folder.find("-rank") == folder.npos || monitored_in(path) + ".csv" == name) {
    return false;
  }
  const auto file = RandomFile::open(path);
  if (!file) return true;  // reading it reports the error
  char head[kMsprobeHeading.size()];
  const std::size_t bytes = std::min<std::uint64_t>(sizeof head, file->size_bytes());
  return !file->read_at(0, std::as_writable_bytes(std::span(head, bytes))) ||
         kMsprobeHeading.starts_with(std::string_view(head, bytes));
}

Result<RowsRead> read_monitor(Monitor monitor, const std::string& path, const NextPiece& next, const EachRow& each,
                              GrowingRows* growing) {
  if (monitor == Monitor::kMsprobe) return MsprobeReader(path, next, each, growing).run();
  return InspectReader(path, next, each, growing).run();
}

}  // namespace tensorstat
