// Reads new rows of a file that is still being written, and notices when it was replaced.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/rows.hpp>

#include "stats/data/rows/csv/growing_rows.hpp"

namespace tensorstat {

// How far a file has been read, and its state at that time. The store keeps this in its database, a follower in memory.
struct FileGrowth {
  bool is_known = false;
  std::uint64_t device = 0, inode = 0, modified_ns = 0;
  std::uint64_t head_bytes = 0, head_crc32 = 0;  // of its beginning
  std::uint64_t row_count = 0;
  GrowingRows read;  // how far; of a dump.json only the offset, which is its size
};

class GrowingRowFile {
 public:
  // `path` is a file, or one in a store. `before`: the growth that was already read.
  GrowingRowFile(std::string path, const FileGrowth& before);

  // A dump.json is written whole each time.
  bool is_json() const { return path_.ends_with(".json"); }

  // Whether there may be new rows. An error: the file cannot be read.
  Result<bool> looks_new();

  // After looks_new(): it is not the file that was read before, or it was cut. Then all of it is new.
  bool is_replaced() const { return is_replaced_; }

  // Hands out the new rows; from a dump.json all rows. If `each` returns an error, the rest is left for the next time,
  // except from a dump.json. Then after() has the new state, without the number of rows, which the caller counts.
  Result<RowsRead> read(const EachRow& each);
  FileGrowth& after() { return after_; }

 private:
  const std::string path_;
  const FileGrowth before_;
  FileGrowth after_;
  bool is_replaced_ = false;
};

}  // namespace tensorstat
