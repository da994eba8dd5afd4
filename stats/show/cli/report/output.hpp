// Writes the results to stdout or a file.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {

// stdout is written piece by piece. A file is written whole by close(), or not at all. A new file gets the umask's
// mode. As with cp, an existing file keeps its mode, a file that may not be written is an error, a link is followed,
// and a dangling link is an error.
class Output {
 public:
  // An empty path: stdout. `is_synced`: a file is on the disk before it gets its name, so a power failure leaves the
  // old one or the new one.
  explicit Output(std::string path, bool is_synced = true);
  Status write(std::string_view text);
  Status flush();  // writes the text kept for stdout
  Status close();

 private:
  const std::string path_;
  std::string held_;  // for a file, everything: the rows are small compared to the tensors
  const bool is_terminal_, is_synced_;
};

// Writes all of `text`. Returns `exit`; if writing fails, reports it and returns kNotWritten.
int write_out(const std::string& path, std::string_view text, int exit, Console& console, bool is_synced = true);

}  // namespace tensorstat::cli
