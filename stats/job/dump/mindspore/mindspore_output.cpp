#include "stats/job/dump/mindspore/mindspore_output.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <set>
#include <utility>

#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/csv/statistic_csv.hpp"
#include "stats/job/dump/mindspore/device_rows.hpp"
#include "stats/job/dump/mindspore/dump_folders.hpp"
#include "stats/job/dump/output/dump_files.hpp"
#include "stats/job/dump/output/run_file.hpp"
#include "stats/job/dump/output/saved_tensor.hpp"

namespace tensorstat {
namespace {

constexpr const char* kRowsFile = "statistic.csv";

bool has_device_rows(const DumpConfig& config, const DumpOptions& options) {
  const bool is_mindspores = options.dialect == Dialect::kMindspore27 || options.dialect == Dialect::kMindsporeNext;
  return options.device_rows && config.on_device && is_mindspores;
}

class MindsporeOutput : public DumpOutput {
 public:
  explicit MindsporeOutput(const OutputContext& context)
      : config_(context.config),
        options_(context.options),
        columns_(context.columns),
        has_device_rows_(has_device_rows(config_, options_)),
        heading_(csv_header(context.columns, context.options.dialect)),
        notices_(context.notices),
        dump_meter_(context.dump_meter),
        tally_(context.tally),
        folders_(context.config, context.options.layout, now_as_text()),
        files_(context.options.sync, context.notices) {
    const auto& wanted = config_.statistic_category;
    if (has_device_rows_ && !std::ranges::all_of(wanted, is_of_device)) {
      notices_->warn_once("device statistics",
                          "statistic_category has what the device does not compute, which has no "
                          "column where device_rows are wanted: it has max, min, avg and l2norm");
    }
  }

  void write(std::span<PendingRun* const> runs) noexcept override;

  void save_kernel_args(const DumpPlace& place, const DumpOperator& op, std::string_view json) noexcept override try {
    files_.save_text(folders_.folder(place) + "/" + kernel_args_file_name(op.type, op.name), json);
  } catch (const std::exception&) {
    notices_->warn_once("memory for arguments", "out of memory: arguments of kernels are missing");
  }

  void save_execution_order(std::uint32_t rank, std::uint32_t graph, std::string_view names) noexcept override try {
    files_.save_text(folders_.execution_order_file(rank, graph),
                     "NodeExecutionOrder-FullNameWithScope\n" + std::string(names));
  } catch (const std::exception&) {
    notices_->warn_once("memory for orders", "out of memory: an execution order is missing");
  }

  void name_graph(std::uint32_t graph, std::string_view model) noexcept override try {
    folders_.name_graph(graph, model);
  } catch (const std::exception&) {
    notices_->warn_once("memory for models", "out of memory: the name of a model is missing");
  }

  void note_step(std::uint32_t rank, std::uint32_t graph, std::uint64_t iteration) noexcept override try {
    files_.append_line(folders_.executions_file(rank, graph), std::to_string(iteration));
  } catch (const std::exception&) {
    notices_->warn_once("memory for steps", "out of memory: the number of an iteration is missing");
  }

  void close_step(const DumpPlace& place) noexcept override try {
    files_.close_folder(folders_.folder(place));
  } catch (const std::bad_alloc&) {
    notices_->warn_once("memory for closing", "out of memory: the files of a step stay open");
  }

  void flush() noexcept override { files_.flush(); }
  void close() noexcept override { files_.close_all(); }

  Written written() const noexcept override {
    const LineTally &rows = files_.rows(), &lines = files_.lines();
    return {rows.written, rows.waiting, rows.dropped, lines.waiting, lines.dropped, files_.tensor_file_count()};
  }

 private:
  void save_metadata(std::uint32_t rank) noexcept;
  void write(const PendingRun& run, const PendingTensor& tensor, const std::string& folder, std::string& rows) noexcept;
  bool save(Identity& identity, const PendingTensor& tensor, const std::string& folder);

  const DumpConfig& config_;
  const DumpOptions& options_;
  const Categories columns_;
  const bool has_device_rows_;
  const std::string heading_;
  const std::shared_ptr<Notices> notices_;
  DumpMeter& dump_meter_;
  DumpTally& tally_;
  DumpFolders folders_;
  DumpFiles files_;
  std::set<std::uint32_t> known_ranks_;
};

// Consecutive rows for the same file are appended together.
void MindsporeOutput::write(std::span<PendingRun* const> runs) noexcept {
  std::string rows, rows_folder, folder;
  for (const PendingRun* run : runs) {
    try {
      folder = folders_.folder(run->place);
    } catch (const std::bad_alloc& fault) {
      tally_.lose(run->tensors.size(), fault.what());
      continue;
    }
    if (folder != rows_folder) {
      files_.append_rows(rows_folder, kRowsFile, heading_, rows);
      rows.clear();
      rows_folder.swap(folder);
    }
    save_metadata(run->place.rank);
    if (config_.saves_runs) {
      save_run(*run, rows_folder, files_, dump_meter_, tally_, *notices_);
      continue;
    }
    for (const PendingTensor& tensor : run->tensors) write(*run, tensor, rows_folder, rows);
  }
  files_.append_rows(rows_folder, kRowsFile, heading_, rows);
}

// Saves the tensor's file, and appends its row to `rows`.
void MindsporeOutput::write(const PendingRun& run, const PendingTensor& tensor, const std::string& folder,
                            std::string& rows) noexcept try {
  const bool wants_row = config_.saves_statistics() && (has_device_rows_ || !is_complex(tensor.stored));
  if (!wants_row && !config_.saves_tensors()) {
    ++tally_.complex;
    return;
  }
  Identity identity = identity_of(run, tensor);
  const bool saved = !config_.saves_tensors() || save(identity, tensor, folder);
  const bool is_known = tensor.statistics || is_complex(tensor.stored);
  if (wants_row && is_known) {
    Row row{identity, tensor.tensor.bytes(), std::string(data_type(tensor)), tensor.shape,
            tensor.statistics ? *tensor.statistics : Statistics(columns_, std::vector<Value>(columns_.size()))};
    if (has_device_rows_) {
      row.statistics = as_of_device(std::move(row.statistics), row.data_type, config_.device_stat_precision_mode);
    }
    rows += csv_row(row, options_.dialect, has_device_rows_);
  }
  ++(saved && (is_known || !wants_row) ? tally_.tensors : tally_.lost_tensors);
} catch (const std::exception& fault) {
  tally_.lose(1, fault.what());
}

// If the file name is taken, the tensor gets the next free microsecond, so that no file is overwritten.
bool MindsporeOutput::save(Identity& identity, const PendingTensor& tensor, const std::string& folder) {
  return save_tensor(tensor, dump_meter_, tally_, *notices_, [&](const NpyContent& content) {
    std::string name = npy_file_name(identity, tensor.format, data_type(tensor), options_.layout);
    while (files_.has(folder, name)) {
      ++identity.timestamp_us;
      name = npy_file_name(identity, tensor.format, data_type(tensor), options_.layout);
    }
    return files_.save_tensor(folder, name, content);
  });
}

// Writes .dump_metadata the first time a rank is seen. It replaces an earlier run's, as in MindSpore, with a notice.
void MindsporeOutput::save_metadata(std::uint32_t rank) noexcept try {
  if (!known_ranks_.insert(rank).second) return;
  const std::string folder = folders_.rank_folder(rank) + "/.dump_metadata";
  std::string about;
  JsonWriter(about)
      .begin_object()
      .key("device_target")
      .text(options_.device_target)
      .key("ms_version")
      .text(options_.framework_version)
      .end();
  const std::pair<std::string, std::string> texts[] = {{"data_dump.json", config_.text}, {"config.json", about}};
  for (const auto& [name, text] : texts) {
    const std::string path = folder + "/" + name;
    constexpr std::size_t kMostBytes = std::size_t{16} << 20;
    if (const auto earlier = read_whole_file(path, kMostBytes); earlier && *earlier != text) {
      notices_->warn_once(path, path + ": replaced; a run with another config wrote it");
    }
    files_.save_text(path, text);
  }
} catch (const std::exception&) {
  notices_->warn_once("memory for metadata", "out of memory: .dump_metadata of a rank is missing");
}

class MindsporeForm : public OutputForm {
 public:
  // MindSpore 2.7 writes duplicate categories as duplicate columns. Later versions and tensorstat write each once.
  Categories columns(const DumpConfig& config, const DumpOptions& options) const override {
    if (!config.saves_statistics()) return {};
    if (has_device_rows(config, options)) {  // all versions of MindSpore keep duplicates here
      Categories there;
      std::ranges::copy_if(config.statistic_category, std::back_inserter(there), is_of_device);
      return there;
    }
    if (options.dialect == Dialect::kMindspore27) return config.statistic_category;
    Categories once;
    for (const Category category : config.statistic_category) {
      if (std::find(once.begin(), once.end(), category) == once.end()) once.push_back(category);
    }
    return once;
  }

  std::unique_ptr<DumpOutput> open(const OutputContext& context) const override {
    return std::make_unique<MindsporeOutput>(context);
  }

  std::optional<std::string> folder(const DumpConfig& config, const DumpOptions& options,
                                    const DumpPlace& place) const override {
    // each dump has a folder of its own, named by the time
    if (options.layout == DumpLayout::kByStep) return std::nullopt;
    return DumpFolders(config, options.layout, "").folder(place);
  }
  std::string rank_folder(const DumpConfig& config, std::uint32_t rank) const override {
    return DumpFolders(config, DumpLayout::kByRank, "").rank_folder(rank);
  }
  std::string rows_file() const override { return kRowsFile; }
};

}  // namespace

std::shared_ptr<const OutputForm> mindspore_form() { return std::make_shared<MindsporeForm>(); }

}  // namespace tensorstat
