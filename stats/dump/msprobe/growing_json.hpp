// A JSON file that grows by entries, and is whole whenever somebody looks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/files/io/random_file.hpp"

namespace tensorstat {

// One thread at a time. Each write makes a new file beside the old one and gives it the old one's name, so that a
// process that is killed leaves one or the other. What is settled is copied from the old file and not held in memory.
class GrowingJson {
 public:
  // The file is `head`, the entries with commas between them, and `tail`; where there are none, `empty`.
  GrowingJson(std::string path, std::string head, std::string tail, std::string empty);

  const std::string& path() const { return path_; }
  // Of entries that no later write() may change.
  std::uint64_t settled_bytes() const { return settled_bytes_; }

  // Writes the file: what is settled, then these. When it is written, `settled` joins what is settled; `open` has to
  // be given again. Where it fails the file is as it was.
  Status write(std::span<const std::string> settled, std::span<const std::string> open, bool synced);

 private:
  Status copy_settled(const std::function<void(std::string_view)>& to);

  const std::string path_, head_, tail_, empty_;
  std::uint64_t settled_bytes_ = 0;
  std::optional<RandomFile> written_;  // the file as it was written last, whatever has its name now
};

}  // namespace tensorstat
