// Everything a dump session puts on disk.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/dump/mindspore/config.hpp"
#include "stats/dump/mindspore/dump_folders.hpp"
#include "stats/files/npy_writer.hpp"
#include "stats/rows/append_file.hpp"

namespace tensorstat {

// One thread at a time, but for the counters. Faults are counted and said once; none ends anything. Where the disk does
// not take a file's lines they wait in bounded memory, and the file is closed when others are used more.
class DumpWriter {
 public:
  // `columns` are those of every statistic.csv.
  DumpWriter(const DumpConfig& config, const DumpOptions& options, const Categories& columns,
             std::shared_ptr<Notices> notices);

  const DumpFolders& folders() const { return folders_; }

  // Rows for the statistic.csv of a folder, each ending in LF.
  void append_rows(const std::string& folder, std::string_view rows) noexcept;

  // A line of one of the execution_order files, or of any other. false: it is lost.
  bool append_line(const std::string& path, std::string_view line) noexcept;

  // A tensor's file. Where a name is too long for a file, here and below, a number takes its place, which a line of
  // the folder's mapping.csv explains. Where a file of this name is there already, the tensor gets the next
  // microsecond that is free, so that no file takes another's place.
  bool save_tensor(const std::string& folder, Identity& identity, const std::string& format, std::string_view dtype,
                   const NpyContent& content);

  void save_text(const std::string& path, std::string_view text) noexcept;

  // .dump_metadata of a rank, the first time it is met. What an earlier run left is kept, and said.
  void save_metadata(std::uint32_t rank) noexcept;

  // Closes what lies in the folder of an iteration, and tries what other files could not write.
  void close_folder(const DumpPlace& place) noexcept;
  // Tries all lines that wait. Whether none waits any longer.
  bool flush() noexcept;
  // As the last try: what cannot be written is lost, counted and said.
  void close_all() noexcept;

  // Rows of statistic.csv, and lines of other files.
  const LineTally& rows() const { return *rows_; }
  const LineTally& lines() const { return *lines_; }
  std::uint64_t file_count() const { return file_count_; }

 private:
  // Where a file goes, and its line in mapping.csv; none when its name fits.
  struct Destination {
    std::string path, mapping_line;
  };
  Destination destination_of(const std::string& folder, const std::string& file_name);

  struct File {
    std::string path;
    std::unique_ptr<AppendFile> lines;
    bool is_released = false;  // it is in waiting_
  };
  using Files = std::list<File>;

  AppendFile& file_at(const std::string& path);
  void release(Files::iterator at) noexcept;
  void try_waiting() noexcept;
  void forget(Files& files, Files::iterator at) noexcept;
  void begin_folder(const std::string& folder);

  const DumpConfig& config_;
  const DumpOptions& options_;
  const std::string header_;
  const std::shared_ptr<Notices> notices_;
  const DumpFolders folders_;
  const std::shared_ptr<LineTally> rows_ = std::make_shared<LineTally>();
  const std::shared_ptr<LineTally> lines_ = std::make_shared<LineTally>();
  // Each file is in one of two lists, the least recently used first: those that may have a descriptor open, and those
  // that have none and lines that wait.
  Files open_, waiting_;
  std::map<std::string_view, Files::iterator> by_path_;
  std::set<std::string> begun_folders_;
  std::set<std::uint32_t> known_ranks_;
  std::mt19937 random_{std::random_device{}()};
  std::atomic<std::uint64_t> file_count_{0};
};

}  // namespace tensorstat
