// Where the results go.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

// stdout, which is written by and by, or a file that appears whole at close() or not at all. A new file has the mode
// of the umask. As with cp, a file that is there keeps its mode, one that may not be written is an error, a link is followed,
// and a link to nothing is an error.
class Output {
 public:
  explicit Output(std::string path);  // empty: stdout
  Status write(std::string_view text);
  Status flush();  // what is held for stdout
  Status close();

 private:
  const std::string path_;
  std::string held_;  // for a file all: a row is short beside the tensor it was made of
  const bool is_terminal_;
};

// Writes all of `text` there. `exit`, or kNotWritten where that fails, which is said.
int write_out(const std::string& path, std::string_view text, int exit, Console& console);

}  // namespace tensorstat::cli
