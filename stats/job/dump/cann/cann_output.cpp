#include "stats/job/dump/cann/cann_output.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <utility>

#include "stats/data/rows/csv/statistic_csv.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/job/dump/output/dump_files.hpp"
#include "stats/job/dump/output/run_file.hpp"

namespace tensorstat {
namespace {

class CannOutput : public DumpOutput {
 public:
  CannOutput(const OutputContext& context, std::shared_ptr<const AclOperators> operators, CannFolders folders)
      : config_(context.config),
        notices_(context.notices),
        dump_meter_(context.dump_meter),
        tally_(context.tally),
        operators_(std::move(operators)),
        folders_(folders),
        world_size_(context.options.world_size),
        opened_at_(now_as_text()),
        heading_(csv_header(context.columns, Dialect::kCann)),
        files_(context.options.sync, context.notices) {}

  bool admits(PendingRun& run) noexcept override try {
    const std::string_view model = model_of(run.place);
    if (model.empty() && operators_->has_several_models()) say_no_model(run.place.graph);
    const auto items = operators_->items_around(run, model, ranges_);
    const auto refused = [&](const PendingTensor& tensor) { return !operators_->wants_tensor(*run.op, items, tensor); };
    std::erase_if(run.tensors, refused);
    return !run.tensors.empty();
  } catch (const std::exception&) {
    return true;  // when in doubt, dump it
  }

  void name_graph(std::uint32_t graph, std::string_view model) noexcept override try {
    models_.insert_or_assign(graph, std::string(model));
    const auto& items = operators_->items();
    if (items.empty() || std::ranges::any_of(items, [&](const AclItem& item) { return item.is_of(model); })) return;
    notices_->warn_once("not listed", [&] {
      return "nothing of the model " + std::string(model) +
             " is dumped, but flagged operators: dump.dump_list has no " + "item for it";
    });
  } catch (const std::bad_alloc&) {
    notices_->warn_once("memory for models", "out of memory: the name of a model is missing");
  }

  void write(std::span<PendingRun* const> runs) noexcept override {
    for (const PendingRun* run : runs) write(*run);
  }

  std::string why_nothing() const override {
    return operators_->items().empty()
               ? ""
               : "the models, blacklists and ranges of dump.dump_list leave nothing of what came";
  }

  void flush() noexcept override {}  // each file is complete once it is written
  void close() noexcept override { files_.close_all(); }

  Written written() const noexcept override {
    return {rows_.load(), 0, lost_rows_.load(), 0, files_.lines().dropped, files_.tensor_file_count()};
  }

 private:
  // Empty if nobody said it.
  std::string_view model_of(const DumpPlace& place) const {
    const auto named = models_.find(place.graph);
    return named == models_.end() ? std::string_view() : named->second;
  }

  void say_no_model(std::uint32_t graph) const {
    notices_->warn_once("models", [&] {
      return "dump.dump_list names several models, and the backend does not say which model has graph " +
             std::to_string(graph) + " (name_graph): its files are written under the model " + config_.net_name +
             ", and an operator is dumped where any item wants it";
    });
  }

  std::string folder(const DumpPlace& place) const {
    std::string path = config_.path;
    if (folders_.is_torchairs && !path.substr(path.rfind('/') + 1).starts_with("worldsize")) {
      path += "/worldsize" + std::to_string(world_size_) + "_global_rank" + std::to_string(place.rank);
    }
    path += "/" + opened_at_ + "/" + std::to_string(place.device);
    if (!folders_.has_model) return path;
    const std::string_view model = model_of(place);
    return path + "/" + (model.empty() ? config_.net_name : std::string(model)) + "/" + std::to_string(place.graph) +
           "/" + std::to_string(place.iteration);
  }

  void write(const PendingRun& run) noexcept try {
    const std::string in = folder(run.place);
    if (config_.saves_tensors()) return save_run(run, in, files_, dump_meter_, tally_, *notices_);
    std::string lines;
    std::uint64_t rows = 0, lost = 0;
    for (const PendingTensor& tensor : run.tensors) {
      Identity identity = identity_of(run, tensor);
      if (is_complex(tensor.stored)) {
        ++tally_.complex;
        continue;
      }
      if (!tensor.statistics) {
        ++lost;
        continue;
      }
      if (!tensor.format.empty() && tensor.format != "DefaultFormat") identity.set("format", tensor.format);
      lines +=
          csv_row({identity, tensor.tensor.bytes(), std::string(data_type(tensor)), tensor.shape, *tensor.statistics},
                  Dialect::kCann);
      ++rows;
    }
    tally_.lost_tensors += lost;
    if (rows != 0) write_rows(identity_of(run, run.tensors.front()), in, lines, rows);
  } catch (const std::exception& fault) {
    tally_.lose(run.tensors.size(), fault.what());
  }

  // A file is named by the time of its first tensor. If that name is taken, by the next free microsecond.
  void write_rows(Identity identity, const std::string& in, const std::string& lines, std::uint64_t rows) {
    const auto lose = [&](const Error& why) {
      lost_rows_ += rows;
      tally_.lost_tensors += rows;
      notices_->warn_once("csv of a run", [&] { return "rows are lost: " + why.message; });
    };
    if (!can_name_run(identity)) return lose(no_file_name(identity));
    std::string name = file_name(Dialect::kCann, identity);
    for (; files_.has(in, name); name = file_name(Dialect::kCann, identity)) ++identity.timestamp_us;
    const Status written = files_.save_text(in, name, heading_ + lines);
    if (written) {
      rows_ += rows;
      tally_.tensors += rows;
      return;
    }
    lose(written.error());
  }

  const DumpConfig& config_;
  const std::shared_ptr<Notices> notices_;
  DumpMeter& dump_meter_;
  DumpTally& tally_;
  const std::shared_ptr<const AclOperators> operators_;
  const CannFolders folders_;
  const std::uint32_t world_size_;
  const std::string opened_at_, heading_;
  DumpFiles files_;
  std::map<std::uint32_t, std::string> models_;  // by graph
  AclRanges ranges_;
  std::atomic<std::uint64_t> rows_{0}, lost_rows_{0};
};

class CannForm : public OutputForm {
 public:
  CannForm(std::shared_ptr<const AclOperators> operators, CannFolders folders)
      : operators_(std::move(operators)), folders_(folders) {}

  Categories columns(const DumpConfig& config, const DumpOptions&) const override {
    return config.saves_statistics() ? config.statistic_category : Categories();
  }
  std::unique_ptr<DumpOutput> open(const OutputContext& context) const override {
    return std::make_unique<CannOutput>(context, operators_, folders_);
  }
  std::optional<std::string> folder(const DumpConfig&, const DumpOptions&, const DumpPlace&) const override {
    return std::nullopt;  // the folder's {time} is the time of opening
  }
  bool refuses_runs() const override { return true; }
  std::string rows_file() const override { return ""; }

 private:
  const std::shared_ptr<const AclOperators> operators_;
  const CannFolders folders_;
};

}  // namespace

std::shared_ptr<const OutputForm> cann_form(std::shared_ptr<const AclOperators> operators, CannFolders folders) {
  return std::make_shared<CannForm>(std::move(operators), folders);
}

}  // namespace tensorstat
