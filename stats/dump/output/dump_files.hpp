// The files of a dump: files of lines that stay open for a while, and files that are written at once.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/files/npy/npy_writer.hpp"
#include "stats/rows/append_file.hpp"

namespace tensorstat {

// Local time as 20240131235959, for the folders of a dump.
std::string now_as_text();

// One thread at a time, but for the counters. Faults are counted and said once; none ends anything. Where the disk does
// not take a file's lines they wait in bounded memory, and the file is closed when others are used more.
//
// Where a name is too long for a file, a number takes its place: files/long_name.hpp.
class DumpFiles {
 public:
  DumpFiles(Sync sync, std::shared_ptr<Notices> notices) : sync_(sync), notices_(std::move(notices)) {}

  // Rows for a file in `folder`, each ending in LF. The file is begun with `heading`.
  void append_rows(const std::string& folder, std::string_view name, std::string_view heading,
                   std::string_view rows) noexcept;

  // A line of any other file. false: it is lost.
  bool append_line(const std::string& path, std::string_view line) noexcept;

  // Whether a file of this name is there; not known of one whose name is too long.
  bool has(const std::string& folder, const std::string& name) const;

  // A tensor's file; one of that name is replaced. false: it could not be written, which is said.
  bool save_tensor(const std::string& folder, const std::string& name, const NpyContent& content);
  // The same of a text in pieces, as write_whole_file() takes it. An error where it could not be written.
  Status save_run(const std::string& folder, const std::string& name,
                  const std::function<Status(const WritePiece& write)>& fill);
  // The same, of a file that holds no tensors.
  Status save_text(const std::string& folder, const std::string& name, std::string_view text);

  void save_text(const std::string& path, std::string_view text) noexcept;

  // Closes what lies in a folder, and tries what other files could not write.
  void close_folder(const std::string& folder) noexcept;
  // Tries all lines that wait.
  void flush() noexcept;
  // As the last try: what cannot be written is lost, counted and said.
  void close_all() noexcept;

  // Rows, and lines of other files.
  const LineTally& rows() const { return *rows_; }
  const LineTally& lines() const { return *lines_; }
  std::uint64_t tensor_file_count() const { return tensor_file_count_; }

 private:
  // Where a file goes, and its line in mapping.csv; none when its name fits.
  struct Destination {
    std::string path, mapping_line;
  };
  static Destination destination_of(const std::string& folder, const std::string& file_name);
  // Has `write` write the file of this name to the path that it gets, and explains a number.
  Status save(const std::string& folder, const std::string& name,
              const std::function<Status(const std::string& path)>& write);

  struct File {
    std::string path;
    std::unique_ptr<AppendFile> lines;
    bool is_released = false;  // it is in waiting_
  };
  using Files = std::list<File>;

  // `heading` and `tally` are those of a file that is met for the first time.
  AppendFile& file_at(const std::string& path, std::string_view heading, const std::shared_ptr<LineTally>& tally);
  void release(Files::iterator at) noexcept;
  void try_waiting() noexcept;
  void forget(Files& files, Files::iterator at) noexcept;
  void begin_folder(const std::string& folder);

  const Sync sync_;
  const std::shared_ptr<Notices> notices_;
  const std::shared_ptr<LineTally> rows_ = std::make_shared<LineTally>();
  const std::shared_ptr<LineTally> lines_ = std::make_shared<LineTally>();
  // Each file is in one of two lists, the least recently used first: those that may have a descriptor open, and those
  // that have none and lines that wait.
  Files open_, waiting_;
  std::map<std::string_view, Files::iterator> by_path_;
  std::set<std::string> begun_folders_;
  std::atomic<std::uint64_t> tensor_file_count_{0};
};

}  // namespace tensorstat
