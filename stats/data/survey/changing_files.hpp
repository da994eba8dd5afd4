// Finds the files of rows that somebody is writing, again and again, without walking through all folders each time.
//
//   ChangingFiles files({"/dumps/run"});
//   for (;;) {
//     std::vector<Error> faults;
//     for (const RowFile& file : files.look(faults)) read_what_is_new(file);
//     wait();
//   }
//
// It asks the file system for sizes and times, since NFS and Lustre send no inotify events.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include "stats/data/survey/row_files.hpp"

namespace tensorstat {

class ChangingFiles {
 public:
  // Folders, files, and stores. A path may be made later.
  explicit ChangingFiles(std::vector<std::string> paths);

  // The files that are new since the last look, or have another size or time, by path in natural order: the first time
  // all. So the iterations of a rank are read in their order if they were written so. Once more those that have been
  // quiet for some seconds: the reader of a log takes its last lines then. Each look asks about the files and folders
  // that changed last, about folders of folders, and about some hundred of the others in turn. So a file that was quiet
  // for long is noticed later if there are thousands.
  std::vector<RowFile> look(std::vector<Error>& faults);

  // Whether a path does not exist yet.
  bool is_waiting() const { return !missing_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Stamp {
    std::uint64_t device = 0, inode = 0, size = 0, modified_ns = 0, changed_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Folder {
    std::string path, relative;
    Stamp stamp;
    Clock::time_point changed;  // when its stamp was last seen to be another one
    bool is_settled = false;    // it was listed some time after that
    bool holds_folders = false;
  };
  struct File {
    RowFile file;
    std::string asked;  // the file to ask for its time: for a path into a store, the store
    Stamp stamp;
    Clock::time_point changed;  // when its stamp was last seen to be another one
    bool is_settled;            // it was handed out some time after that, or is a store, whose rows are whole
  };
  // Which of many are asked in one look: those that changed last, and some in turn.
  struct Turn {
    std::deque<std::size_t> recent;
    std::size_t next = 0;
    void note_change(std::size_t number);
    std::vector<std::size_t> take(std::size_t count);
  };

  static bool stamp_of(const std::string& path, Stamp& stamp);
  void begin();
  void add_file(RowFile file);
  void list(std::size_t folder, std::vector<Error>& faults);

  std::vector<std::string> missing_;
  std::deque<Folder> folders_;
  std::vector<std::size_t> inner_;  // folders that hold folders
  std::vector<File> files_;
  std::unordered_set<std::string> known_;  // paths of files and folders
  EventSteps steps_;
  Turn folder_turn_, file_turn_;
  std::vector<RowFile> found_;
};

}  // namespace tensorstat
