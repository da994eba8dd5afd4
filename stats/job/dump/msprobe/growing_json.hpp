// A JSON file that grows by entries and is complete at every moment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/data/files/io/random_file.hpp"

namespace tensorstat {

// Used by one thread at a time. Each write creates a new file and renames it over the old one, so a killed process
// leaves one complete file. Settled entries are copied from the old file and not held in memory.
class GrowingJson {
 public:
  // The file is `head`, the entries separated by commas, and `tail`. Without entries it is `empty`.
  GrowingJson(std::string path, std::string head, std::string tail, std::string empty);

  const std::string& path() const { return path_; }
  // Bytes of entries that no later write() can change.
  std::uint64_t settled_bytes() const { return settled_bytes_; }

  // Writes the settled entries so far, then `settled` and `open`. On success `settled` becomes part of the settled
  // entries; `open` must be passed again next time. On failure the file is unchanged.
  Status write(std::span<const std::string> settled, std::span<const std::string> open, bool synced);

 private:
  Status copy_settled(const std::function<void(std::string_view)>& to);

  const std::string path_, head_, tail_, empty_;
  std::uint64_t settled_bytes_ = 0;
  std::optional<RandomFile> written_;  // the file of the last write, even if another one has its name now
};

}  // namespace tensorstat
