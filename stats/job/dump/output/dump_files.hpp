// The files of a dump: files of lines that stay open for a while, and files that are written in one piece.
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

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/rows/append_file.hpp"

namespace tensorstat {

// Local time as 20240131235959, for the names of folders.
std::string now_as_text();

// Used by one thread at a time; the counters by any. Errors are counted and reported once; none stops the dump. If the
// disk refuses lines, they wait in bounded memory. The least recently used files are closed.
//
// If a name is too long for the file system, a number replaces it: files/long_name.hpp.
class DumpFiles {
 public:
  DumpFiles(Sync sync, std::shared_ptr<Notices> notices) : sync_(sync), notices_(std::move(notices)) {}

  // Rows for a file in `folder`, each ending in LF. A new file begins with `heading`.
  void append_rows(const std::string& folder, std::string_view name, std::string_view heading,
                   std::string_view rows) noexcept;

  // A line for any other file. false: the line is lost.
  bool append_line(const std::string& path, std::string_view line) noexcept;

  // Whether a file of this name exists. Always false for a name that is too long.
  bool has(const std::string& folder, const std::string& name) const;

  // Saves a tensor; replaces a file of the same name. false: the file could not be written, and this was reported.
  bool save_tensor(const std::string& folder, const std::string& name, const NpyContent& content);
  // The same for content that comes in pieces, as in write_whole_file(). Returns the error.
  Status save_run(const std::string& folder, const std::string& name,
                  const std::function<Status(const WritePiece& write)>& fill);
  // The same for a file without tensors.
  Status save_text(const std::string& folder, const std::string& name, std::string_view text);

  void save_text(const std::string& path, std::string_view text) noexcept;

  // Closes the files of a folder, and retries the waiting lines of others.
  void close_folder(const std::string& folder) noexcept;
  // Retries all waiting lines.
  void flush() noexcept;
  // The last retry: what cannot be written is lost, counted and reported.
  void close_all() noexcept;

  // Counters of rows, and of lines in other files.
  const LineTally& rows() const { return *rows_; }
  const LineTally& lines() const { return *lines_; }
  std::uint64_t tensor_file_count() const { return tensor_file_count_; }

 private:
  // The path of a file, and its line in mapping.csv, which is empty if the name fits.
  struct Destination {
    std::string path, mapping_line;
  };
  static Destination destination_of(const std::string& folder, const std::string& file_name);
  // Calls `write` with the file's path. If the name is too long, adds a line to mapping.csv.
  Status save(const std::string& folder, const std::string& name,
              const std::function<Status(const std::string& path)>& write);

  struct File {
    std::string path;
    std::unique_ptr<AppendFile> lines;
    bool is_released = false;  // it is in waiting_
  };
  using Files = std::list<File>;

  // `heading` and `tally` are used only if the file is new here.
  AppendFile& file_at(const std::string& path, std::string_view heading, const std::shared_ptr<LineTally>& tally);
  void release(Files::iterator file) noexcept;
  void try_waiting() noexcept;
  void forget(Files& files, Files::iterator file) noexcept;
  void begin_folder(const std::string& folder);

  const Sync sync_;
  const std::shared_ptr<Notices> notices_;
  const std::shared_ptr<LineTally> rows_ = std::make_shared<LineTally>();
  const std::shared_ptr<LineTally> lines_ = std::make_shared<LineTally>();
  // Each file is in one of two lists, the least recently used first. open_: may have an open descriptor. waiting_:
  // closed, with lines that wait.
  Files open_, waiting_;
  std::map<std::string_view, Files::iterator> by_path_;
  std::set<std::string> begun_folders_;
  std::atomic<std::uint64_t> tensor_file_count_{0};
};

}  // namespace tensorstat
