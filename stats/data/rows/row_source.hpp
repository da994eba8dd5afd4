// The registry of row sources: files that hold many files of rows, such as a store (stats/answer/store).
//
// A file in a source has the path SOURCE//RUN/PATH, where PATH is the file's own absolute path: so its folders tell its
// place as they did on disk. SOURCE//RUN stands for the files of one run, as a folder does, and SOURCE for all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

namespace tensorstat {

struct RowSource;

struct StoredPath {
  std::string store, run, file;  // run and file may be empty
  const RowSource* source;
};

struct StoredRows {
  std::string path;    // SOURCE//RUN/PATH
  std::string folder;  // relative to what the rows were added from
  std::uint64_t row_count = 0;
};

struct RowSource {
  std::string_view magic;  // what its files begin with
  Result<std::vector<StoredRows>> (*files)(const StoredPath& path);
  Result<RowsRead> (*read)(const StoredPath& file, const EachRow& each);
  Result<RowsRead> (*columns)(const StoredPath& file);
};

// Adds a source, which must live as long as the process. Call it before paths are read by other threads.
void add_row_source(const RowSource& source);

// The parts of a path that is a file of a source or leads into one; nullopt for other paths.
std::optional<StoredPath> stored_path(const std::string& path);

}  // namespace tensorstat
