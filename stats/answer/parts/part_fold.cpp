#include "stats/answer/parts/part_fold.hpp"

#include <algorithm>
#include <utility>

#include "stats/answer/parts/state.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

class PartFold {
 public:
  PartFold(Meter& meter, const PartList& list, const FoldOptions& options)
      : list_(list),
        on_(options.on),
        survey_(meter, list.request.request(options.on),
                {.void_is_bfloat16 = list.request.void_is_bfloat16,
                 .raw = list.request.raw,
                 .by = list.request.by,
                 .threads = options.threads},
                {.measured = [this](SurveyedTensor&& entry) { add(std::move(entry)); },
                 .unreadable = [this](const Error& error) { add_unreadable(error); },
                 .unmeasured = [this](const std::string& label,
                                      const Error& error) { add_fault(label, error.message, on_ == On::kDevice); },
                 .progressed =
                     [&options](const Survey::Progress& progress) {
                       if (options.progressed) options.progressed(progress);
                     }}) {
    head_.key = list.key;
    head_.parts = list.parts;
    head_.part_numbers = {list.part};
    head_.request = list.request;
  }

  FoldedPart fold() {
    for (const std::string& fault : list_.faults) add_fault("", fault, false);
    for (const PlannedFile& file : list_.files) fold(file);
    survey_.finish();
    folded_.state = written(head_) + records_;
    return std::move(folded_);
  }

 private:
  void fold(const PlannedFile& file) {
    std::uint64_t size_bytes = 0, modified_us = 0;
    stat_file(file.path, size_bytes, modified_us);
    if (size_bytes != file.size_bytes || modified_us != file.modified_us) {
      return add_fault("", printable(file.path) + ": was changed after it was planned; plan again", false);
    }
    for (const PlannedFile::Work& work : file.work) {
      numbers_.push_back(file.number);
      if (!work.is_piece) {
        survey_.add(file.path, false, {}, {.first = work.first, .end = work.end});
        continue;
      }
      const std::uint64_t count = work.end - work.first;
      survey_.add_piece(file.path, {.tensor = work.tensor, .first = work.first, .count = count},
                        [&](SurveyedTensor&& entry, const std::uint64_t total, Partial&& partial) {
                          StateRecord record = record_of(StateRecord::Kind::kPiece, std::move(entry));
                          record.first = work.first;
                          record.count = count;
                          record.total = total;
                          const std::vector<std::byte> bytes = partial.serialize();
                          record.partial.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                          append(record);
                        });
    }
  }

  StateRecord record_of(StateRecord::Kind kind, SurveyedTensor&& entry) {
    StateRecord record{.kind = kind, .file = numbers_[entry.file], .tensor = entry.number};
    const bool is_next_row = entry.index && record.file == last_file_ && record.tensor == last_tensor_;
    row_ = is_next_row ? row_ + 1 : 0;
    last_file_ = record.file;
    last_tensor_ = record.tensor;
    record.row = row_;
    for (const Decision& each : entry.placement) record.engines.emplace_back(each.engine);
    const auto is_first = [&](const std::string& engine) { return engine == record.engines.front(); };
    if (std::ranges::all_of(record.engines, is_first)) record.engines.resize(1);
    record.entry = std::move(entry);
    return record;
  }

  void add(SurveyedTensor&& entry) { append(record_of(StateRecord::Kind::kRow, std::move(entry))); }

  // A note, such as of a text, is said here and not kept: nothing is missing.
  void add_unreadable(const Error& error) {
    if (error.code != Code::kNoNumbers) return add_fault("", error.message, false);
    folded_.notes.push_back(error.message);
  }

  void add_fault(const std::string& label, const std::string& fault, bool is_for_device) {
    StateRecord record{.kind = StateRecord::Kind::kFault, .file = list_.part, .tensor = head_.faults};
    record.label = label;
    record.fault = fault;
    record.is_for_device = is_for_device;
    append(record);
    head_.faults += 1;
    folded_.errors.push_back(label.empty() ? fault : label + ": " + fault);
    folded_.is_for_device |= is_for_device;
  }

  void append(const StateRecord& record) {
    records_ += written(record);
    head_.records += 1;
  }

  const PartList& list_;
  const On on_;
  StateHead head_;
  std::string records_;
  FoldedPart folded_;
  std::vector<std::uint64_t> numbers_;  // by SurveyedTensor::file: PlannedFile::number
  std::uint64_t last_file_ = 0, last_tensor_ = 0, row_ = 0;
  Survey survey_;
};

}  // namespace

FoldedPart fold_part(Meter& meter, const PartList& list, const FoldOptions& options) {
  return PartFold(meter, list, options).fold();
}

}  // namespace tensorstat
