#include "stats/job/attach/record.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/append_file.hpp"
#include "stats/data/rows/notices.hpp"

namespace tensorstat::attach {
namespace {

constexpr std::uint32_t kMostRanks = 1 << 20;

// The first folder rank_N that is not there; contexts and processes meet in mkdir.
std::optional<std::string> take_rank(const std::string& out) {
  std::error_code failed;
  std::filesystem::create_directories(out, failed);
  static std::uint32_t next = 0;  // of this process: the ones before are taken
  for (; next < kMostRanks; ++next) {
    std::string folder = out + "/rank_" + std::to_string(next);
    if (mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) return std::nullopt;
  }
  return std::nullopt;
}

class RecorderInFolder final : public Recorder {
 public:
  RecorderInFolder(const std::string& folder, const Categories& statistics)
      : notices_(std::make_shared<Notices>(Log())),
        said_({.path = folder + "/attach/watch.ndjson", .sync = Sync::kNever}, notices_) {
    auto writer =
        RowWriter::open({.dialect = Dialect::kOurs, .categories = statistics}, [this](std::string_view lines) {
          lines_ += lines;
          return Status();
        });
    if (!writer) return;
    rows_.emplace(
        AppendOptions{.path = folder + "/attach/0/0/statistic.csv", .header = std::move(lines_), .sync = Sync::kNever},
        notices_);
    writer_.emplace(*std::move(writer));
    said_.append("{\"kind\": \"launches\"}\n");
  }

  std::size_t write(const std::vector<Row>& rows) override {
    if (!writer_) return 0;
    lines_.clear();
    std::size_t count = 0;
    for (const Row& row : rows) count += writer_->write(row) ? 1 : 0;
    return rows_->append(lines_) == AppendFile::Outcome::kDropped ? 0 : count;
  }

  void write_not_seen(std::string_view op_name, std::string_view io, std::string_view why) override {
    said_.append("{\"kind\": \"not_seen\", \"iteration\": 0, \"op_name\": " + json_quoted(op_name) +
                 ", \"io\": " + json_quoted(io) + ", \"why\": " + json_quoted(why) + "}\n");
  }

  void write_poisoned(std::string_view op_name, std::string_view what) override {
    said_.append("{\"kind\": \"poisoned\", \"op_name\": " + json_quoted(op_name) + ", \"what\": " + json_quoted(what) +
                 "}\n");
  }

  void close() override {
    if (rows_) rows_->close();
    said_.close();
  }

 private:
  std::shared_ptr<Notices> notices_;
  std::string lines_;
  AppendFile said_;
  std::optional<AppendFile> rows_;
  std::optional<RowWriter> writer_;
};

}  // namespace

std::unique_ptr<Recorder> Recorder::open(const std::string& out, const Categories& statistics) {
  const auto folder = take_rank(out);
  if (!folder) return nullptr;
  return std::make_unique<RecorderInFolder>(*folder, statistics);
}

}  // namespace tensorstat::attach
