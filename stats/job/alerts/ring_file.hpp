// The file of a ring of steps. No two living processes have the same name. Nothing is mapped: whatever others do with
// the file is an error here, and no signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/data/files/io/own_file.hpp"

namespace tensorstat {

// A process holds flock() on its file from before the file has its name until it dies. Who wants to move a file away
// takes this lock first, and then looks whether the name still stands for the file that is locked.
//
// Used by one thread at a time.
class RingFile {
 public:
  RingFile() = default;
  RingFile(RingFile&& other) noexcept;
  RingFile& operator=(RingFile&& other) noexcept;
  ~RingFile();  // removes a file that has only its hidden name

  // A file of zeros, with its disk space reserved. Its name is hidden; the next open() in this folder removes what a
  // killed process left of it.
  static Result<RingFile> create(const std::string& folder, std::uint64_t bytes);
  // Gives it the first of last_steps.ring, last_steps_2.ring ... that no living process has. What a dead one left there
  // becomes last_steps.old.ring, last_steps_2.old.ring ...; of those eight stay.
  Status claim();
  // Gives it the name of `old`, which is this process's; claim(), if another file has that now.
  Status take_name_of(const RingFile& old);

  bool is_open() const { return file_.is_open(); }
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

  // An error if somebody has cut or removed the file, or closed its descriptor so that it cannot be had again.
  Status check();
  // Looks at RLIMIT_FSIZE, beyond which a write raises a signal. Once a step is enough: the limit hardly ever changes.
  void look_at_limit();
  // After check(). An error leaves an unknown part of the bytes written.
  Status write(std::uint64_t offset_bytes, std::string_view bytes);
  Status read(std::uint64_t offset_bytes, std::span<std::byte> out) const;

 private:
  Status fault(int error) const;

  std::string folder_, path_;
  bool is_hidden_ = false;
  OwnFile file_;
  int descriptor_ = -1;      // since the last check()
  bool is_limited_ = false;  // by RLIMIT_FSIZE
  std::uint64_t bytes_ = 0;
};

}  // namespace tensorstat
