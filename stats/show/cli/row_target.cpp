#include "stats/show/cli/row_target.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/io/growing_file.hpp"
#include "stats/data/rows/names/run_cut.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/job/dump/msprobe/dump_json_carrier.hpp"

namespace tensorstat::cli {
namespace {

// A csv file and the writer of its rows.
class OpenFile {
 public:
  static Result<std::unique_ptr<OpenFile>> create(const std::string& path, const RowFormat& format,
                                                  ConversionLosses& losses) {
    auto file = GrowingFile::create(path);
    if (!file) return file.error();
    auto open = std::unique_ptr<OpenFile>(new OpenFile(*std::move(file)));
    auto carrier = RowCarrier::open(
        format, [to = &open->file_](std::string_view lines) { return to->write(lines); }, losses);
    if (!carrier) return carrier.error();
    open->carrier_.emplace(*std::move(carrier));
    return open;
  }

  Status carry(Row&& row) { return carrier_->carry(std::move(row)); }
  Status finish() {
    if (Status carried = carrier_->finish(); !carried) return carried;
    return file_.close();
  }
  std::uint64_t rows() const { return carrier_->rows(); }

 private:
  explicit OpenFile(GrowingFile file) : file_(std::move(file)) {}

  GrowingFile file_;
  std::optional<RowCarrier> carrier_;
};

// A csv has rows only. The rest of a call is recorded as a loss.
class CsvTarget : public RowTarget {
 public:
  Status end_call(CallRead&& call) override {
    losses_.left_out(call.op_name, call.other_count, name(format_.dialect));
    losses_.cut_short(call.op_name, call.odd_count, call.odd_member, name(format_.dialect));
    return {};
  }

 protected:
  CsvTarget(RowFormat format, ConversionLosses& losses) : format_(std::move(format)), losses_(losses) {}

  const RowFormat format_;
  ConversionLosses& losses_;
};

class OneFile : public CsvTarget {
 public:
  OneFile(std::string path, RowFormat format, ConversionLosses& losses)
      : CsvTarget(std::move(format), losses), path_(std::move(path)) {}

  Status carry(Row&& row) override {
    if (Status open = begin(); !open) return open;
    return file_->carry(std::move(row));
  }

  Status finish() override {
    if (Status open = begin(); !open) return open;  // writes the heading, even without rows
    if (Status done = file_->finish(); !done) return done;
    rows = file_->rows();
    files = 1;
    return {};
  }

 private:
  Status begin() {
    if (file_ != nullptr) return {};
    auto created = OpenFile::create(path_, format_, losses_);
    if (!created) return created.error();
    file_ = *std::move(created);
    return {};
  }

  const std::string path_;
  std::unique_ptr<OpenFile> file_;
};

class FileForEachRun : public CsvTarget {
 public:
  FileForEachRun(std::string folder, RowFormat format, ConversionLosses& losses)
      : CsvTarget(std::move(format), losses), folder_(std::move(folder)) {}

  Status carry(Row&& row) override {
    if (cut_.begins_run(row.identity)) {
      if (Status done = finish_run(); !done) return done;
      is_refused_ = !can_name_run(row.identity);
      if (Status begun = is_refused_ ? Status() : begin(row); !begun) return begun;
    }
    if (is_refused_) {
      losses_.refused(row, "no file can be named after it: an operator's type or name is missing");
      return {};
    }
    const std::uint64_t time = std::exchange(row.identity.timestamp_us, run_.timestamp_us);
    if (time != run_.timestamp_us) {
      losses_.changed("Timestamp", row, std::to_string(time), std::to_string(run_.timestamp_us));
    }
    return file_->carry(std::move(row));
  }

  Status finish() override {
    if (Status done = finish_run(); !done) return done;
    return mapping_ ? mapping_->close() : Status();
  }

 private:
  Status finish_run() {
    if (file_ == nullptr) return {};
    if (Status done = file_->finish(); !done) return done;
    rows += file_->rows();
    files += 1;
    file_.reset();
    return {};
  }

  Status begin(const Row& row) {
    run_ = row.identity;
    std::string name;
    do {
      name = file_name(format_.dialect, run_);
    } while (is_taken(name) && ++run_.timestamp_us != 0);
    if (name.size() > kMostNameBytes) {
      const std::string long_name = std::exchange(name, number_for(folder_, name));
      if (Status explained = explain(name, long_name); !explained) return explained;
    }
    // A run's file has only the run's statistics.
    RowFormat format = format_;
    format.categories = row.statistics.categories;
    auto created = OpenFile::create(folder_ + "/" + name, format, losses_);
    if (!created) return created.error();
    file_ = *std::move(created);
    return {};
  }

  Status explain(const std::string& number, const std::string& long_name) {
    if (!mapping_) {
      auto created = GrowingFile::create(folder_ + "/" + kMappingFile);
      if (!created) return created.error();
      mapping_.emplace(*std::move(created));
    }
    return mapping_->write(mapping_line(number, long_name) + "\n");
  }

  bool is_taken(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(folder_ + "/" + name, ignored);
  }

  const std::string folder_;
  RunCut cut_;
  bool is_refused_ = false;  // the current run: its file name would not be recognised as a file of rows
  Identity run_;
  std::optional<GrowingFile> mapping_;  // maps numbers to names that are too long
  std::unique_ptr<OpenFile> file_;
};

class DumpJsonFile : public RowTarget {
 public:
  DumpJsonFile(std::string path, std::string_view framework, ConversionLosses& losses)
      : path_(std::move(path)),
        carrier_(
            framework, [this](std::string_view text) { return write(text); }, losses) {}

  Status carry(Row&& row) override { return carrier_.carry(std::move(row)); }
  Status begin_call() override { return carrier_.begin_call(); }
  Status end_call(CallRead&& call) override { return carrier_.end_call(std::move(call)); }

  Status finish() override {
    if (Status done = carrier_.finish(); !done) return done;
    rows = carrier_.rows();
    files = 1;
    return file_->close();
  }

 private:
  Status write(std::string_view text) {
    if (!file_) {
      auto created = GrowingFile::create(path_);
      if (!created) return created.error();
      file_.emplace(*std::move(created));
    }
    return file_->write(text);
  }

  const std::string path_;
  std::optional<GrowingFile> file_;
  DumpJsonCarrier carrier_;
};

}  // namespace

std::optional<std::string> rows_file(std::optional<Dialect> to) {
  if (!to) return "dump.json";
  std::string name = file_name(*to, {});
  if (name != "statistic.csv") return std::nullopt;
  return name;
}

std::unique_ptr<RowTarget> make_dump_json_target(const std::string& folder, std::string_view framework,
                                                 ConversionLosses& losses) {
  return std::make_unique<DumpJsonFile>(folder + "/" + *rows_file(std::nullopt), framework, losses);
}

std::unique_ptr<RowTarget> make_target(const std::string& folder, RowFormat format, ConversionLosses& losses) {
  if (const auto name = rows_file(format.dialect)) {
    return std::make_unique<OneFile>(folder + "/" + *name, std::move(format), losses);
  }
  return std::make_unique<FileForEachRun>(folder, std::move(format), losses);
}

}  // namespace tensorstat::cli
