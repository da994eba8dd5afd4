// The one way by which rows of a store (stats/answer/store) reach what reads files of rows.
//
// A file of a store has the path STORE//RUN/PATH, where PATH is the file's own absolute path: so its folders tell its
// place as they did on disk. STORE//RUN stands for the files of one run, as a folder does, and STORE for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat {

struct StoredPath {
  std::string store, run, file;  // run and file may be empty
};

struct StoredRows {
  std::string path;    // STORE//RUN/PATH
  std::string folder;  // relative to what the rows were added from
  std::uint64_t row_count = 0;
};

struct StoreDoor {
  Result<std::vector<StoredRows>> (*files)(const StoredPath& path);
  Result<RowsRead> (*read)(const StoredPath& file, const EachRow& each);
  Result<RowsRead> (*columns)(const StoredPath& file);
};

// A program with stores calls this once, before paths are read.
void open_store_door(const StoreDoor& door);
// nullptr: this program has no stores.
const StoreDoor* store_door();

// The parts of a path that is a store or leads into one; nullopt for other paths.
std::optional<StoredPath> stored_path(const std::string& path);

}  // namespace tensorstat
