// A folder that is filled under a hidden name and renamed when it is complete.
#pragma once

#include <atomic>
#include <csignal>
#include <string>
#include <tensorstat/status.hpp>
#include <thread>
#include <utility>

namespace tensorstat::cli {

class StagedFolder {
 public:
  // Creates a hidden folder beside `target`. `target` must not exist, or must be an empty folder; else kUnwritable.
  // Removes hidden folders that killed processes left for the same target.
  static Result<StagedFolder> open(const std::string& target);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();  // removes a folder that was not placed

  const std::string& path() const { return path_; }

  // Syncs the files to disk, then gives the name `target` to the folder, or to its one file `only_file`.
  Status place(const std::string& only_file = {});

 private:
  StagedFolder(std::string path, std::string target, int lock)
      : path_(std::move(path)), target_(std::move(target)), lock_(lock) {}

  std::string path_, target_;
  int lock_;  // a descriptor of the folder; its lock shows that this process lives
};

// While this object exists, SIGTERM, SIGINT, SIGHUP, SIGQUIT and SIGPIPE are held back until guard(). Then they remove
// its folder before they end the process. A SIGPIPE of our own write ends it when this object is destroyed. Ignored
// signals stay ignored. Create it in the main thread, before other threads and before the folder.
class RemovedOnSignal {
 public:
  RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;
  ~RemovedOnSignal();

  void guard(std::string path);

 private:
  void wait();

  std::string path_;
  sigset_t signals_, before_;
  std::atomic<bool> is_over_ = false;
  int wakes_ = 0;  // a signal to wake waiting_ with; 0: all are ignored
  std::thread waiting_;
};

}  // namespace tensorstat::cli
