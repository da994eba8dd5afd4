#include "stats/answer/compare/recorded.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "stats/answer/compare/row_place.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/data/survey/survey.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// The statistics that a comparison of two tensors needs.
const Categories kOfTensors = {Category::kMax,
                               Category::kMin,
                               Category::kAvg,
                               Category::kL2norm,
                               Category::kNanCount,
                               Category::kNegativeInfCount,
                               Category::kPositiveInfCount,
                               Category::kZeroCount,
                               Category::kMd5};

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

// Whether these are the tensors of one step and rank of msprobe.
template <typename File>
bool are_of_one_dump_json(const std::vector<File>& files) {
  const auto folder_of = [](const File& file) { return fs::path(file.path).parent_path(); };
  return !files.empty() && folder_of(files[0]).filename() == "dump_tensor_data" &&
         std::ranges::all_of(files, [&](const File& file) { return folder_of(file) == folder_of(files[0]); });
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

RunRows::RunRows(std::string path, MeterOptions meter, ReadListener listener, Reading reading)
    : path_(std::move(path)), meter_(std::move(meter)), listener_(std::move(listener)), reading_(reading) {}

Status RunRows::each(const Each& each, const std::set<std::uint64_t>* only) {
  if (Status status = find_files(); !status) return status;
  if (are_measured_) {
    measure(each, only);
  } else {
    for (File& file : files_) {
      if (was_read_ && only != nullptr) {
        const auto wanted = only->lower_bound(file.least);
        if (wanted == only->end() || *wanted > file.most) continue;
      }
      if (Status read = each_of(file, each, only); !read) complain(read.error().message);
    }
  }
  for (const Error& fault : orders_.faults()) complain(fault.message);
  was_read_ = true;
  return {};
}

Status RunRows::find_files() {
  if (std::exchange(are_found_, true)) return {};
  std::error_code ignored;
  const bool is_stored = stored_path(path_).has_value();
  if (!is_stored && fs::symlink_status(path_, ignored).type() == fs::file_type::not_found) {
    return Error{Code::kUnreadable, printable(path_) + ": there is no such file or folder"};
  }
  std::vector<Error> faults;
  const bool is_folder = fs::is_directory(path_, ignored);
  if (is_folder || is_row_file(path_)) {
    std::vector<Error> none;  // of a folder without rows: it may hold tensors
    OneRun run;
    for (RowFile& file : find_row_files({path_}, none)) {
      if (Status is_of_run = run.add(file.path); !is_of_run) return is_of_run;
      files_.push_back({std::move(file.path)});
    }
    if (!files_.empty() || is_stored) faults = std::move(none);
  }
  are_measured_ = files_.empty() && !is_stored;
  if (are_measured_) {
    std::vector<std::string> files;
    is_folder ? find_tensor_files(path_, files, faults) : files.push_back(path_);
    for (std::string& file : files) files_.push_back({std::move(file)});
  }
  for (const Error& fault : faults) complain(fault.message);
  return {};
}

Status RunRows::each_of(File& file, const Each& each, const std::set<std::uint64_t>* only) {
  // A single dump.json may be compared with the dump.json of another step or rank; so may the tensors of one.
  const DumpPlace place = files_.size() == 1 && !reading_.is_alone ? place_of_file(file.path)
                                                                   : place_of_rows(file.path).value_or(DumpPlace{});
  // Rows in a store: use the file that they came from, if it still exists.
  const auto stored = stored_path(file.path);
  const std::string& beside = stored ? stored->file : file.path;
  const ExecutionOrder* order = orders_.of_file(beside);
  const Execution execution = execution_of_file(beside);
  const auto read = read_rows_of_file(file.path, [&](Row&& row) -> Status {
    const Identity& identity = row.identity;
    const RowPlace row_place = place_of_row(identity, place);
    file.least = std::min(file.least, row_place.iteration);
    file.most = std::max(file.most, row_place.iteration);
    if (only != nullptr && !only->contains(row_place.iteration)) return {};
    remember_folder(row_place.rank, row_place.iteration, row_place.graph, beside);
    each(row, {.name = identity.op_name,
               .argument = argument_of(identity),
               .rank = row_place.rank,
               .iteration = row_place.iteration,
               .graph = row_place.graph,
               .position = order ? order->place_of(identity.op_name) : std::nullopt,
               .is_parameter = row_place.is_parameter,
               .execution = execution});
    return {};
  });
  return read ? Status() : read.error();
}

void RunRows::measure(const Each& each, const std::set<std::uint64_t>* only) {
  Meter meter(meter_);
  const bool has_place = reading_.is_alone || !are_of_one_dump_json(files_);
  Survey::Listener listener;
  listener.measured = [&](SurveyedTensor&& entry) {
    const Identity& identity = entry.row.identity;
    const bool is_dumped = identity.op_type != "Tensor";
    std::string name = identity.op_name;
    if (!is_dumped) {
      const std::string below = entry.path == path_ || (reading_.names == Reading::Names::kOfTensors && entry.tensor)
                                    ? ""
                                    : fs::path(entry.path).lexically_relative(path_).string();
      name = below + (entry.tensor && !below.empty() ? "::" : "") + entry.tensor.value_or("");
    }
    const auto rank = static_cast<std::uint32_t>(has_place ? number_or(identity, "rank", 0) : 0);
    const auto graph = static_cast<std::uint32_t>(number_or(identity, "graph", 0));
    const std::uint64_t iteration = is_dumped && has_place ? number_or(identity, "iteration", 0) : 0;
    if (only != nullptr && !only->contains(iteration)) return;
    if (is_dumped) remember_folder(rank, iteration, graph, entry.path);
    const ExecutionOrder* order = is_dumped ? orders_.of_file(entry.path) : nullptr;
    each(entry.row, {.name = name,
                     .file = entry.path,
                     .tensor = entry.tensor ? std::string_view(*entry.tensor) : std::string_view(),
                     .argument = argument_of(identity),
                     .rank = rank,
                     .iteration = iteration,
                     .graph = graph,
                     .position = order ? order->place_of(identity.op_name) : std::nullopt,
                     .is_parameter = is_parameter(argument_of(identity)),
                     .execution = is_dumped ? execution_of_file(entry.path) : Execution::kUnknown});
  };
  listener.unreadable = [&](const Error& error) {
    const bool was_whole = is_whole_;
    complain(error.message);
    if (error.code == Code::kNoNumbers) is_whole_ = was_whole;  // there was nothing to measure, so nothing is missing
  };
  listener.unmeasured = [&](const std::string& label, const Error& error) { complain(label + ": " + error.message); };
  listener.progressed = [&](const Survey::Progress& progress) {
    listener_.progressed(progress.tensors, progress.known + files_.size() - progress.files, progress.bytes);
  };
  Survey survey(meter, {kOfTensors, Precision::kHigh, On::kAuto}, {}, std::move(listener));
  for (const File& file : files_) survey.add(file.path);
  survey.finish();
}

// Rows of one folder mostly come one after another. msprobe's stack.json lies above the folder of its tensors.
void RunRows::remember_folder(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph,
                              const std::string& path) {
  const std::string_view folder = std::string_view(path).substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'));
  if (!folders_.empty() && std::get<0>(last_folder_) == rank && std::get<1>(last_folder_) == iteration &&
      std::get<2>(last_folder_) == folder)
    return;
  last_folder_ = {rank, iteration, std::string(folder)};
  std::string of_companions(folder);
  if (folder.ends_with("/dump_tensor_data")) of_companions.resize(folder.rfind('/'));
  if (folders_.insert({rank, iteration, of_companions}).second)
    hints_.add_folder(rank, iteration, graph, of_companions);
}

void RunRows::complain(const std::string& words) {
  if (was_read_) return;
  listener_.failed(words);
  is_whole_ = false;
}

void add_while_short(Record& record, bool& is_short, bool must_keep, const Row& row, const Record::Place& place) {
  if (is_short && !must_keep && record.rows().size() == kMostRowsKept) {
    is_short = false;
    record = {};
  }
  if (is_short) record.add(row, place);
}

Status read_again(Record& record, RunRows& rows, const std::set<std::uint64_t>* only,
                  const std::function<bool(const Row&, const Record::Place&)>& takes) {
  record = {};
  const auto add = [&](const Row& row, const Record::Place& place) {
    if (!takes || takes(row, place)) record.add(row, place);
  };
  const Status read = rows.each(add, only);
  record.sort();
  return read;
}

Error nothing_to_read(const std::string& path) {
  std::string words = printable(path) + ": there is nothing to compare: no rows and no tensors";
  std::vector<Error> ignored;
  std::error_code none;
  for (const FolderEntry& entry : entries_of(path, ignored)) {
    if (entry.path.ends_with(".ring") || std::filesystem::exists(entry.path + "/last_steps.ring", none)) {
      return {Code::kUnreadable,
              words + ". `tensorstat events " + printable(path) + " --write` makes a dump of its last steps"};
    }
  }
  return {Code::kUnreadable, words};
}

}  // namespace tensorstat
