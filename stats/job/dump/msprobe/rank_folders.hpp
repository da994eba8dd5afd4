// The folders of msprobe's dump: step{N}/rank{R}, or step{N}/proc{pid} where another session has the rank's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tensorstat/dump.hpp>
#include <utility>

#include "stats/data/files/io/lock_file.hpp"
#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Processes that do not know their ranks are all rank 0. The first one has rank0 for as long as it lives; the folder of
// another has its process number, as msprobe names the folder of a process without a rank. Used by one thread at a
// time.
class RankFolders {
 public:
  RankFolders(std::string path, std::shared_ptr<Notices> notices)
      : path_(std::move(path)), notices_(std::move(notices)) {}
  ~RankFolders() { close(); }
  RankFolders(const RankFolders&) = delete;
  RankFolders& operator=(const RankFolders&) = delete;

  bool has(std::uint32_t rank) const { return taken_.contains(rank); }
  // Takes the rank's folder at the first call.
  std::string folder(const DumpPlace& place);
  // Gives the folders back. Removes the path if it was made here and nothing is in it.
  void close() noexcept;

 private:
  struct LockedFolder {
    std::string name;
    LockFile lock;
  };
  LockedFolder take(std::uint32_t rank);

  const std::string path_;
  const std::shared_ptr<Notices> notices_;
  bool is_made_here_ = false;
  std::map<std::uint32_t, LockedFolder> taken_;
};

}  // namespace tensorstat
