#include "stats/compare/recorded.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <vector>

#include "stats/base/printable.hpp"
#include "stats/compare/execution_order.hpp"
#include "stats/compare/row_place.hpp"
#include "stats/files/io/folders.hpp"
#include "stats/rows/names/dump_place.hpp"
#include "stats/rows/store_door.hpp"
#include "stats/survey/row_files.hpp"
#include "stats/survey/survey.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// Remembers where the rows of a rank and iteration lie, each folder once.
class Folders {
 public:
  explicit Folders(Hints& hints) : hints_(hints) {}
  void add(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph, const std::string& path) {
    const std::string_view folder =
        std::string_view(path).substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
    if (rank_ == rank && iteration_ == iteration && folder_ == folder) return;
    rank_ = rank;
    iteration_ = iteration;
    folder_ = folder;
    if (known_.insert({rank, iteration, *folder_}).second) hints_.add_folder(rank, iteration, graph, *folder_);
  }

 private:
  Hints& hints_;
  std::uint32_t rank_ = 0;
  std::uint64_t iteration_ = 0;
  std::optional<std::string> folder_;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::string>> known_;
};

Status add_rows(const std::string& path, const DumpPlace& place, ExecutionOrders& orders, Folders& folders,
                Record& record) {
  // Of rows in a store, what lies beside the file that they came from, while it is there.
  const auto stored = stored_path(path);
  const std::string& file = stored ? stored->file : path;
  const ExecutionOrder* order = orders.of_file(file);
  const Execution execution = execution_of_file(file);
  const auto read = read_rows_of_file(path, [&](Row&& row) -> Status {
    const Identity& who = row.identity;
    const RowPlace at = place_of_row(who, place);
    folders.add(at.rank, at.iteration, at.graph, file);
    record.add(row, {.name = who.op_name,
                     .rank = at.rank,
                     .iteration = at.iteration,
                     .graph = at.graph,
                     .position = order ? order->place_of(who.op_name) : std::nullopt,
                     .is_parameter = at.is_parameter,
                     .execution = execution});
    return {};
  });
  return read ? Status() : read.error();
}

// What the comparison of two tensors wants to know.
const Categories kOfTensors = {Category::kMax,
                               Category::kMin,
                               Category::kAvg,
                               Category::kL2norm,
                               Category::kNanCount,
                               Category::kNegativeInfCount,
                               Category::kPositiveInfCount,
                               Category::kZeroCount,
                               Category::kMd5};

void measure_tensors(const std::string& root, const std::vector<std::string>& files, const MeterOptions& options,
                     const ReadListener& told, ExecutionOrders& orders, Folders& folders, Reading::Names names,
                     Recorded& read) {
  Meter meter(options);
  Survey::Listener listener;
  listener.measured = [&](SurveyedTensor&& entry) {
    const Identity& who = entry.row.identity;
    const bool is_dumped = who.op_type != "Tensor";
    std::string name = who.op_name;
    if (!is_dumped) {
      const std::string below = entry.path == root || (names == Reading::Names::kOfTensors && entry.tensor)
                                    ? ""
                                    : fs::path(entry.path).lexically_relative(root).string();
      name = below + (entry.tensor && !below.empty() ? "::" : "") + entry.tensor.value_or("");
    }
    if (is_dumped) {
      folders.add(static_cast<std::uint32_t>(number_or(who, "rank", 0)), number_or(who, "iteration", 0),
                  static_cast<std::uint32_t>(number_or(who, "graph", 0)), entry.path);
    }
    const ExecutionOrder* order = is_dumped ? orders.of_file(entry.path) : nullptr;
    read.record.add(entry.row, {.name = name,
                                .file = entry.path,
                                .tensor = entry.tensor.value_or(""),
                                .rank = static_cast<std::uint32_t>(number_or(who, "rank", 0)),
                                .iteration = is_dumped ? number_or(who, "iteration", 0) : 0,
                                .graph = static_cast<std::uint32_t>(number_or(who, "graph", 0)),
                                .position = order ? order->place_of(who.op_name) : std::nullopt,
                                .execution = is_dumped ? execution_of_file(entry.path) : Execution::kUnknown});
  };
  const auto complain = [&](const std::string& what) {
    told.failed(what);
    read.is_whole = false;
  };
  listener.unreadable = [&](const Error& error) { complain(error.message); };
  listener.unmeasured = [&](const std::string& label, const Error& error) { complain(label + ": " + error.message); };
  listener.progressed = [&](const Survey::Progress& progress) {
    told.progressed(progress.tensors, progress.known + files.size() - progress.files, progress.bytes);
  };
  Survey survey(meter, {kOfTensors, Precision::kHigh, On::kAuto}, {}, std::move(listener));
  for (const std::string& file : files) survey.add(file);
  survey.finish();
}

// "model.safetensors" of model-00001-of-00003.safetensors; empty if the file has no such name.
std::string name_of_shards(const fs::path& file) {
  constexpr std::string_view kNumbers = "-00001-of-00003";
  const std::string stem = file.stem().string();
  if (stem.size() <= kNumbers.size()) return {};
  const std::string_view end = std::string_view(stem).substr(stem.size() - kNumbers.size());
  for (std::size_t i = 0; i < kNumbers.size(); ++i) {
    const bool is_digit = kNumbers[i] >= '0' && kNumbers[i] <= '9';
    if (is_digit ? end[i] < '0' || end[i] > '9' : end[i] != kNumbers[i]) return {};
  }
  const std::string name = stem.substr(0, stem.size() - kNumbers.size()) + file.extension().string();
  return (file.parent_path() / name).string();
}

}  // namespace

bool is_one_container(const std::string& path) {
  std::error_code ignored;
  std::vector<std::string> files = {path};
  std::vector<Error> faults;  // are said when it is read
  if (fs::is_directory(path, ignored)) {
    files.clear();
    if (find_row_files({path}, faults).empty()) find_tensor_files(path, files, faults);
  }
  if (files.size() == 1) return true;
  const std::string shards = files.empty() ? "" : name_of_shards(files[0]);
  return !shards.empty() &&
         std::ranges::all_of(files, [&](const std::string& file) { return name_of_shards(file) == shards; });
}

Result<Recorded> read_recorded(const std::string& path, const MeterOptions& meter, const ReadListener& listener,
                               const Reading& reading) {
  Recorded read;
  ExecutionOrders orders;
  Folders folders(read.hints);
  std::error_code ignored;
  if (!stored_path(path) && fs::symlink_status(path, ignored).type() == fs::file_type::not_found) {
    return Error{Code::kUnreadable, printable(path) + ": there is no such file or folder"};
  }
  std::vector<std::string> files;
  std::vector<Error> faults;
  const bool is_folder = fs::is_directory(path, ignored);
  if (is_folder || is_row_file(path)) {
    std::vector<Error> none;  // of a folder without rows: it may hold tensors
    for (RowFile& file : find_row_files({path}, none)) files.push_back(std::move(file.path));
    if (!files.empty() || stored_path(path)) faults = std::move(none);
  }
  if (!files.empty() || stored_path(path)) {
    for (const std::string& file : files) {
      // One dump.json may be held against that of another step or rank.
      const DumpPlace place =
          files.size() == 1 && !reading.is_alone ? place_of_file(file) : place_of_rows(file).value_or(DumpPlace{});
      if (Status added = add_rows(file, place, orders, folders, read.record); !added) faults.push_back(added.error());
    }
  } else {
    if (is_folder) {
      find_tensor_files(path, files, faults);
    } else {
      files.push_back(path);
    }
    measure_tensors(path, files, meter, listener, orders, folders, reading.names, read);
  }
  faults.insert(faults.end(), orders.faults().begin(), orders.faults().end());
  for (const Error& fault : faults) listener.failed(fault.message);
  read.is_whole = read.is_whole && faults.empty();
  if (read.record.rows().empty()) {
    return Error{Code::kUnreadable, printable(path) + ": there is nothing to compare: no rows and no tensors"};
  }
  read.record.sort();
  return read;
}

}  // namespace tensorstat
