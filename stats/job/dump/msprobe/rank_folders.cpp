#include "stats/job/dump/msprobe/rank_folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "stats/data/files/io/folders.hpp"

namespace tensorstat {

RankFolders::LockedFolder RankFolders::take(std::uint32_t rank) {
  struct stat there;
  is_made_here_ |= ::stat(path_.c_str(), &there) != 0;
  static_cast<void>(make_folders(path_));  // on failure the files say why they cannot be written
  const auto lock_of = [&](const std::string& name) { return LockFile::take(path_ + "/." + name + ".lock"); };
  const std::string own = "rank" + std::to_string(rank), process = "proc" + std::to_string(::getpid());
  if (auto lock = lock_of(own)) return {own, *std::move(lock)};
  for (int sessions = 0;; ++sessions) {  // of this process
    std::string name = process + (sessions == 0 ? "" : std::to_string(sessions));
    auto lock = lock_of(name);
    if (!lock) continue;
    notices_->warn_once("folder of " + own, path_ + ": another session is writing " + own +
                                                " of each step; this one writes " + name +
                                                ". Give each process its rank, or a path of its own");
    return {std::move(name), *std::move(lock)};
  }
}

std::string RankFolders::folder(const DumpPlace& place) {
  auto known = taken_.find(place.rank);
  if (known == taken_.end()) known = taken_.emplace(place.rank, take(place.rank)).first;
  return path_ + "/step" + std::to_string(place.iteration) + "/" + known->second.name;
}

void RankFolders::close() noexcept {
  taken_.clear();
  if (is_made_here_) ::rmdir(path_.c_str());
  is_made_here_ = false;
}

}  // namespace tensorstat
