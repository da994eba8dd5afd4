#include "stats/data/rows/store_door.hpp"

#include <sys/stat.h>

#include <array>
#include <fstream>

namespace tensorstat {
namespace {

const StoreDoor* open_door = nullptr;

bool is_sqlite(const std::string& path) {
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  std::array<char, kMagic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == kMagic;
}

}  // namespace

void open_store_door(const StoreDoor& door) {
  static StoreDoor kept;
  kept = door;
  open_door = &kept;
}

const StoreDoor* store_door() { return open_door; }

std::optional<StoredPath> stored_path(const std::string& path) {
  if (open_door == nullptr) return std::nullopt;
  const std::size_t inside = path.find("//", 1);
  const std::string store = path.substr(0, inside);
  if (!is_sqlite(store)) return std::nullopt;
  if (inside == path.npos) return StoredPath{store, {}, {}};
  const std::size_t run = inside + 2, file = path.find('/', run);
  return StoredPath{store, path.substr(run, file == path.npos ? file : file - run),
                    file == path.npos ? "" : path.substr(file)};
}

}  // namespace tensorstat
