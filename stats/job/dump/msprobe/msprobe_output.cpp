#include "stats/job/dump/msprobe/msprobe_output.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <filesystem>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "stats/core/base/unfinished_files.hpp"
#include "stats/job/dump/msprobe/api_choice.hpp"
#include "stats/job/dump/msprobe/api_name.hpp"
#include "stats/job/dump/msprobe/call_scope.hpp"
#include "stats/job/dump/msprobe/closed_steps.hpp"
#include "stats/job/dump/msprobe/leaf.hpp"
#include "stats/job/dump/msprobe/open_step.hpp"
#include "stats/job/dump/msprobe/rank_folders.hpp"
#include "stats/job/dump/output/dump_files.hpp"
#include "stats/job/dump/output/saved_tensor.hpp"
#include "stats/job/dump/session/dump_meter.hpp"

namespace tensorstat {
namespace {

// Steps that may still get calls; more than one batch of runs has. The files of all other steps are complete.
constexpr std::size_t kMostOpenSteps = 96;

// Complete steps that are remembered by number. An older step is recognised by its file.
constexpr std::size_t kMostClosedSteps = 256;

// Calls that may still get tensors. More than the runs of one batch, and more than the calls within a module, because
// the module's outputs come after them.
constexpr std::size_t kMostOpenCalls = 4096;

// A file is written again after so many new calls or new bytes. A large file waits for more.
constexpr std::size_t kCallsAWrite = 1000;
constexpr std::uint64_t kBytesAWrite = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastPart = 8;

// Limits for entries that could not be written yet, and for stack.json and construct.json of all open steps.
constexpr std::uint64_t kMostWaitingBytes = std::uint64_t{16} << 20, kMostCompanionBytes = std::uint64_t{16} << 20;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

class MsprobeOutput : public DumpOutput {
 public:
  MsprobeOutput(const MsprobeSettings& settings, const OutputContext& context)
      : settings_(settings),
        config_(context.config),
        options_(context.options),
        framework_(context.options.framework.empty() ? "mindspore" : context.options.framework),
        notices_(context.notices),
        dump_meter_(context.dump_meter),
        tally_(context.tally),
        files_(context.options.sync, context.notices),
        folders_(context.config.path, context.notices),
        scope_(settings.scope) {}

  void describe(const DumpOperator& op, std::span<const std::string> stack, std::string_view parent) noexcept override
      try {
    scope_.note_parent(op.name, parent);
    if (!op.wanted || op.is_only_seen) return;
    Description& it = descriptions_[&op];
    it.stack.assign(stack.begin(), stack.end());
    it.parent = parent;
  } catch (const std::bad_alloc&) {
    notices_->warn_once("memory for stacks", "out of memory: the description of an operator is missing");
  }

  void forgo_runs(bool are_forgone) noexcept override { has_files_ = !are_forgone; }
  bool admits(PendingRun& run) noexcept override;
  void write(std::span<PendingRun* const> runs) noexcept override;
  void end_step(const DumpPlace& place) noexcept override;
  void flush() noexcept override {
    for (OpenStep& step : steps_) save(step, is_synced());
    files_.flush();
  }
  void close() noexcept override;

  std::string why_nothing() const override {
    if (const auto missed = scope_.missed()) return "scope begins with " + *missed + ", which did not come";
    return "scope and list leave nothing of what came";
  }

  Written written() const noexcept override {
    return {written_rows_,
            waiting_rows_,
            lost_rows_,
            files_.lines().waiting + waiting_companions_,
            files_.lines().dropped + lost_companions_,
            files_.tensor_file_count()};
  }

 private:
  bool is_synced() const { return options_.sync == Sync::kRow; }
  OpenStep* step_at(const DumpPlace& place);
  bool begins_here(OpenStep& step, const StepCalls::Call& call, const PendingRun& run, const ApiName& name);
  void begin_call(OpenStep& step, const StepCalls::Call& call, const PendingRun& run, const ApiName& name);
  std::string file_of(const std::string& folder) const {
    return folder + (settings_.level == "debug" ? "/debug.json" : "/dump.json");
  }
  void write(const PendingRun& run) noexcept;
  std::string leaf_of(OpenStep& step, const OpenCall& entry, const PendingTensor& tensor);
  bool saves_tensors_of(const std::string& key) const {
    return settings_.saves_all_tensors || is_listed(settings_.tensor_list, key);
  }
  void lay_out(OpenCall& entry, const PendingRun& run);
  void begin(OpenStep& step);
  bool write_files(OpenStep& step, std::size_t settled_count, bool synced);
  void save(OpenStep& step, bool synced) noexcept;
  void save_soon(OpenStep& step) noexcept;
  void settle_steps() noexcept;
  void note_companions(OpenStep& step) noexcept {
    waiting_companions_ -= step.has_waiting_companions;
    step.has_waiting_companions = step.companions.is_waiting();
    waiting_companions_ += step.has_waiting_companions;
  }

  const MsprobeSettings& settings_;
  const DumpConfig& config_;
  const DumpOptions& options_;
  const std::string framework_;
  const std::shared_ptr<Notices> notices_;
  DumpMeter& dump_meter_;
  DumpTally& tally_;
  DumpFiles files_;  // files of tensors
  std::map<const DumpOperator*, Description> descriptions_;
  RankFolders folders_;
  bool has_files_ = true;
  std::uint64_t companion_bytes_ = 0;
  std::list<OpenStep> steps_;  // the least recently used first
  ClosedSteps closed_steps_{kMostClosedSteps};
  CallScope scope_;
  std::atomic<std::uint64_t> written_rows_{0}, waiting_rows_{0}, lost_rows_{0}, waiting_bytes_{0};
  std::atomic<std::uint64_t> waiting_companions_{0}, lost_companions_{0};
};

// nullptr: the step's file is complete.
OpenStep* MsprobeOutput::step_at(const DumpPlace& place) {
  const std::string folder = folders_.folder(place);
  const auto known = std::ranges::find(steps_, folder, &OpenStep::folder);
  if (known != steps_.end()) {
    steps_.splice(steps_.end(), steps_, known);
    return &steps_.back();
  }
  if (closed_steps_.has(place.rank, place.iteration)) return nullptr;
  if (closed_steps_.may_have_had(place.rank, place.iteration) && exists(file_of(folder))) return nullptr;
  const bool has_tensors = settings_.saves_all_tensors || !settings_.tensor_list.empty();
  const std::string head = dump_json_head(settings_.task, settings_.level, framework_,
                                          has_tensors ? folder + "/" + kMsprobeTensorFolder : "");
  steps_.push_back(
      {.rank = place.rank,
       .iteration = place.iteration,
       .folder = folder,
       .dump = GrowingJson(file_of(folder), head, std::string(kDumpJsonTail), head + std::string(kEmptyDumpJsonTail)),
       .companions = Companions(folder, settings_.has_extra_info, settings_.level != "L1")});
  settle_steps();
  return &steps_.back();
}

// Completes the files of the least recently used steps. Steps that the disk does not take stay open.
void MsprobeOutput::settle_steps() noexcept {
  for (auto next = steps_.begin(); steps_.size() > kMostOpenSteps && next != steps_.end();) {
    const auto step = next++;
    save(*step, is_synced());
    if (step->has_changed) continue;
    try {
      closed_steps_.add(step->rank, step->iteration);
    } catch (const std::bad_alloc&) {
      return;
    }
    companion_bytes_ -= std::min(companion_bytes_, step->companions.bytes());
    steps_.erase(step);
  }
}

// Whether a call without an entry gets one with this run. Must be called for each run in order, because of the scope.
bool MsprobeOutput::begins_here(OpenStep& step, const StepCalls::Call& call, const PendingRun& run,
                                const ApiName& name) {
  const bool is_module = name.kind == ApiName::Kind::kModule, are_gradients = name.kind == ApiName::Kind::kGradients;
  const bool is_in =
      scope_.sees({run.place.rank, run.place.iteration, call.key, is_module, call.is_new, run.has_results});
  if (step.refused.contains(call.serial) || (!call.is_new && step.call(call.serial) != nullptr)) return false;
  const bool is_chosen =
      settings_.list.empty() || run.op->is_inside || is_listed(settings_.list, are_gradients ? name.stem : call.key);
  if ((is_in && is_chosen) || (are_gradients && step.backward_modules.contains(name.stem)) ||
      step.awaited.contains(call.serial)) {
    const bool has_any = !run.op->is_only_seen && !(run.tensors.empty() && run.layout.empty());
    if (!has_any && !is_module) step.awaited.insert(call.serial);
    return has_any;
  }
  // The scope may open inside of a module: then its results are dumped, and its inputs are not.
  if (!is_chosen || !is_module) step.refuse(call.serial, kMostOpenCalls);
  return false;
}

void MsprobeOutput::begin_call(OpenStep& step, const StepCalls::Call& call, const PendingRun& run,
                               const ApiName& name) {
  if (!has_files_) save_soon(step);  // only to let go of its calls
  step.entries.push_back({{.kind = name.kind, .is_backward = name.is_backward, .key = call.key}, call.serial});
  step.has_changed = true;
  if (name.kind == ApiName::Kind::kModule && name.is_backward) step.backward_modules.insert(name.stem);
  // Gradients of parameters, and what save() took, belong to no call.
  if (name.kind == ApiName::Kind::kGradients || name.kind == ApiName::Kind::kSaved || !has_files_) return;
  const auto described = descriptions_.find(run.op);
  const Description none;
  if (!step.companions.add(call.key, described == descriptions_.end() ? none : described->second, companion_bytes_,
                           kMostCompanionBytes)) {
    notices_->warn_once("companions",
                        "stack.json and construct.json have reached 16 MiB: further calls are missing there");
  }
}

bool MsprobeOutput::admits(PendingRun& run) noexcept try {
  OpenStep* step = step_at(run.place);
  if (step == nullptr) {
    lost_rows_ += run.tensors.size();
    notices_->warn_once("late", [&] {
      return "tensors came after " + std::to_string(kMostOpenSteps) +
             " further steps had begun, and are lost: the file " + file_of(folders_.folder(run.place)) + " is complete";
    });
    return false;
  }
  const StepCalls::Call call = step->calls.call_of(run, step->first_open);
  run.call = call.serial;
  if (call.is_new || scope_.is_set()) {
    const ApiName name = api_name_of(run.op->type, run.op->name);
    if (begins_here(*step, call, run, name)) begin_call(*step, call, run, name);
  }
  if (step->refused.contains(call.serial)) return false;
  const bool is_asked = scope_.is_set() || !run.layout.empty();
  OpenCall* const entry = is_asked ? step->call(call.serial) : nullptr;
  if (entry != nullptr) lay_out(*entry, run);
  return entry != nullptr || !scope_.is_set();
} catch (const std::exception& fault) {
  tally_.lose(run.tensors.size(), fault.what());
  return false;
}

// Stores the layout of a call's tensors. A layout that is repeated when tensors arrive separately is stored once.
void MsprobeOutput::lay_out(OpenCall& entry, const PendingRun& run) {
  if (run.layout.empty() || run.layout == entry.last_layout || waiting_bytes_ > kMostWaitingBytes) return;
  if (Status taken = entry.layout.add(run.layout); !taken) {
    notices_->warn_once("layout", [&] { return entry.key + ": " + taken.error().message; });
    return;
  }
  entry.last_layout = run.layout;
  waiting_bytes_ += run.layout.size();
  entry.bytes += run.layout.size();
}

void MsprobeOutput::write(std::span<PendingRun* const> runs) noexcept {
  for (const PendingRun* run : runs) write(*run);
  for (OpenStep& step : steps_) save_soon(step);
}

void MsprobeOutput::write(const PendingRun& run) noexcept try {
  OpenStep* step = step_at(run.place);
  OpenCall* entry = step == nullptr ? nullptr : step->call(run.call);
  if (entry == nullptr) return tally_.lose(run.tensors.size(), "their call is complete");
  if (!step->is_begun) begin(*step);
  for (const PendingTensor& tensor : run.tensors) {
    if (waiting_bytes_ > kMostWaitingBytes) {
      ++lost_rows_;
      notices_->warn_once("dump.json is full",
                          "dump.json cannot be written and 16 MiB are waiting: further tensors are lost");
      continue;
    }
    try {
      std::string leaf = leaf_of(*step, *entry, tensor);
      waiting_bytes_ += leaf.size();
      entry->bytes += leaf.size();
      auto& leaves = tensor.io == Io::kInput ? entry->inputs : entry->outputs;
      leaves.insert_or_assign(tensor.slot, std::move(leaf));
      ++entry->unsaved_rows;
      ++waiting_rows_;
    } catch (const std::exception& fault) {
      tally_.lose(1, fault.what());
    }
  }
  step->has_changed = true;
} catch (const std::exception& fault) {
  tally_.lose(run.tensors.size(), fault.what());
}

// The JSON text of a tensor's leaf. Also saves the tensor's file.
std::string MsprobeOutput::leaf_of(OpenStep& step, const OpenCall& entry, const PendingTensor& tensor) {
  std::string checksum, data_name;
  bool is_whole = tensor.statistics.has_value() || is_complex(tensor.stored);
  if (settings_.summary != Summary::kStatistics) {
    DumpMeter::Room room;
    const auto bytes = dump_meter_.bits(tensor, room);
    if (bytes) checksum = checksum_of(settings_.summary, framework_, tensor, *bytes);
    if (!bytes) {
      is_whole = false;
      notices_->warn_once("no checksum",
                          [&] { return "a tensor could not be read and gets no md5: " + bytes.error().message; });
    }
  }
  if (saves_tensors_of(entry.key)) {
    const std::string name = entry.tensor_name(tensor.io, tensor.slot) + ".npy";
    const bool saved = save_tensor(tensor, dump_meter_, tally_, *notices_, [&](const NpyContent& content) {
      return files_.save_tensor(step.folder + "/" + kMsprobeTensorFolder, name, content);
    });
    if (saved) data_name = name;
    is_whole &= saved;
  }
  ++(is_whole ? tally_.tensors : tally_.lost_tensors);
  return text_of(leaf_of_tensor(settings_, framework_, tensor, tensor.statistics, checksum, data_name));
}

// Writes the file without calls, over an earlier run's.
void MsprobeOutput::begin(OpenStep& step) {
  if (exists(step.dump.path())) {
    notices_->warn_once("replaced", step.dump.path() + ": replaced; an earlier run wrote it");
  }
  remove_unfinished_files(step.folder);
  step.is_begun = static_cast<bool>(step.dump.write({}, {}, false));  // an error here will show again in save()
}

void MsprobeOutput::save_soon(OpenStep& step) noexcept {
  if (!step.has_changed) return;
  const auto [calls, bytes] = step.unsaved();
  const bool is_part = bytes * kLeastPart >= step.dump.settled_bytes();
  if (bytes >= kBytesAWrite || (calls >= kCallsAWrite && is_part)) save(step, is_synced());
}

// Whether dump.json is written.
bool MsprobeOutput::write_files(OpenStep& step, std::size_t settled_count, bool synced) {
  std::vector<std::string> texts;
  for (const OpenCall& entry : step.entries) texts.push_back(text_of(entry, config_.input_output, framework_));
  if (!step.is_begun) begin(step);
  const Status beside = step.companions.save(synced);
  note_companions(step);
  const auto whole = std::span<const std::string>(texts);
  const Status written = step.dump.write(whole.first(settled_count), whole.subspan(settled_count), synced);
  for (const Status* status : {&beside, &written}) {
    if (!*status) notices_->warn_once("dump.json", [&] { return status->error().message + "; it is tried again"; });
  }
  return static_cast<bool>(written);
}

// Writes the files of a step if they are out of date. All entries are settled, except those of the last calls.
void MsprobeOutput::save(OpenStep& step, bool synced) noexcept try {
  if (step.is_begun && !step.has_changed) return;
  const std::size_t settled_count = step.entries.size() - std::min(step.entries.size(), kMostOpenCalls);
  if (has_files_ && !write_files(step, settled_count, synced)) return;
  for (OpenCall& entry : step.entries) {
    written_rows_ += entry.unsaved_rows;
    waiting_rows_ -= entry.unsaved_rows;
    waiting_bytes_ -= entry.bytes;
    entry.unsaved_rows = entry.bytes = 0;
  }
  if (settled_count != 0) {
    const auto first = step.entries.begin(), last = std::next(first, static_cast<std::ptrdiff_t>(settled_count));
    step.first_open = std::max(step.first_open, std::prev(last)->serial + 1);
    step.entries.erase(first, last);
  }
  step.is_begun = true;
  step.has_changed = step.companions.is_waiting();
} catch (const std::bad_alloc&) {
  notices_->warn_once("memory for dump.json", "out of memory: dump.json is written later");
}

void MsprobeOutput::end_step(const DumpPlace& place) noexcept try {
  if (!folders_.has(place.rank)) return;
  const auto step = std::ranges::find(steps_, folders_.folder(place), &OpenStep::folder);
  if (step == steps_.end()) return;
  save(*step, options_.sync != Sync::kNever);
  files_.close_folder(step->folder + "/" + kMsprobeTensorFolder);
} catch (const std::bad_alloc&) {
  notices_->warn_once("memory for dump.json", "out of memory: dump.json is written later");
}

void MsprobeOutput::close() noexcept {
  std::uint64_t lost = 0;
  for (OpenStep& step : steps_) {
    save(step, options_.sync != Sync::kNever);
    for (const OpenCall& entry : step.entries) {
      lost += entry.unsaved_rows;
      waiting_rows_ -= entry.unsaved_rows;
    }
    lost_companions_ += step.has_waiting_companions;
    waiting_companions_ -= step.has_waiting_companions;
  }
  lost_rows_ += lost;
  if (lost != 0) {
    notices_->warn_once("lost dump.json", [&] {
      return std::to_string(lost) + (lost == 1 ? " tensor could not be written to dump.json and is lost"
                                               : " tensors could not be written to dump.json and are lost");
    });
  }
  steps_.clear();
  files_.close_all();
  folders_.close();
}

}  // namespace

std::string msprobe_folder(const std::string& path, const DumpPlace& place) {
  return path + "/step" + std::to_string(place.iteration) + "/rank" + std::to_string(place.rank);
}

std::unique_ptr<DumpOutput> open_msprobe_output(const MsprobeSettings& settings, const OutputContext& context) {
  return std::make_unique<MsprobeOutput>(settings, context);
}

}  // namespace tensorstat
