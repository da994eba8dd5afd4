// Everything a dump session puts on disk.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/rows/append_file.hpp"
#include "stats/dump/mindspore/config.hpp"
#include "stats/dump/mindspore/dump_folders.hpp"
#include "stats/files/npy_writer.hpp"

namespace tensorstat {

// One thread at a time, but for the counters. Faults are counted and said once; none ends anything.
class DumpWriter {
 public:
  // `columns` are those of every statistic.csv.
  DumpWriter(const DumpConfig& config, const DumpOptions& options, const Categories& columns,
             std::shared_ptr<Notices> notices);

  const DumpFolders& folders() const { return folders_; }

  // Rows for the statistic.csv of a folder, each ending in LF.
  void append_rows(const std::string& folder, std::string_view rows);

  // A line of one of the execution_order files, or of any other.
  void append_line(const std::string& path, std::string_view line);

  // A tensor's file. Where a name is too long for a file, here and below, a number takes its place, which a line of
  // the folder's mapping.csv explains.
  bool save_tensor(const std::string& folder, const std::string& file_name, const NpyContent& content);

  void save_text(const std::string& path, std::string_view text);

  // .dump_metadata of a rank, the first time it is met. What an earlier run left is kept, and said.
  void save_metadata(std::uint32_t rank);

  // Closes what lies in a folder. A file whose rows the disk did not take yet stays open, and is
  // tried again when the next one is closed.
  void close_folder(const std::string& folder);
  void close_all();

  struct Counters {
    std::atomic<std::uint64_t> rows{0}, lost_rows{0}, files{0};
  };
  const Counters& counters() const { return counters_; }

 private:
  // Where a file goes, and its line in mapping.csv; none when its name fits.
  struct Destination {
    std::string path, mapping_line;
  };
  Destination destination_of(const std::string& folder, const std::string& file_name);

  struct OpenFile {
    std::unique_ptr<AppendFile> file;
    bool ended = false;  // its iteration is over
  };
  using Files = std::map<std::string, OpenFile>;

  AppendFile& file_at(const std::string& path, std::string_view header);
  void retire(Files::iterator at);

  const DumpConfig& config_;
  const DumpOptions& options_;
  const std::string header_;
  const std::shared_ptr<Notices> notices_;
  const DumpFolders folders_;
  Files files_;
  std::set<std::uint32_t> known_ranks_;
  std::mt19937 random_{std::random_device{}()};
  Counters counters_;
};

}  // namespace tensorstat
