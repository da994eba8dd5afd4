// A folder that is filled under another name, and gets its own when all is in it.
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
  // Makes a hidden folder beside `target`, a file or folder that must not be there yet; a folder may be, where it is
  // empty. kUnwritable otherwise. Removes those of earlier processes that were killed on their way to this target.
  static Result<StagedFolder> open(const std::string& target);
  StagedFolder(StagedFolder&& other) noexcept;
  StagedFolder& operator=(StagedFolder&&) = delete;
  ~StagedFolder();  // removes what was not placed

  const std::string& path() const { return path_; }

  // The disk has what is in it; then the folder, or the one file of this name in it, is what `target` names.
  Status place(const std::string& only_file = {});

 private:
  StagedFolder(std::string path, std::string target, int lock)
      : path_(std::move(path)), target_(std::move(target)), lock_(lock) {}

  std::string path_, target_;
  int lock_;  // the folder, open and locked: its process lives
};

// While it lives, SIGTERM, SIGINT, SIGHUP and SIGQUIT wait for guard(), and then remove its folder before they end the
// process. Signals that are ignored stay so. Made by the main thread before other threads begin, and before the folder.
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
  int wakes_ = 0;  // one of the signals; 0: all are ignored
  std::thread waiting_;
};

}  // namespace tensorstat::cli
