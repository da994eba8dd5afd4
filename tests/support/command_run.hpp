// For tests: runs the command as users do.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/built.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::test {

struct Ran {
  int exit = -1;
  std::string out, err;
};

// Runs `tensorstat ARGUMENTS`, or another program, in `folder` through a shell; `environment` comes before it.
inline Ran run(const ScratchFolder& folder, const std::string& arguments, const std::string& environment = "",
               const std::string& program = built::command()) {
  ScratchFolder streams;
  const std::string command = "cd '" + folder.path() + "' && env " + environment + " '" + program + "' " + arguments +
                              " </dev/null >'" + (streams / "out") + "' 2>'" + (streams / "err") + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(streams / "out"), content_of(streams / "err")};
}

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

inline std::size_t line_count(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace tensorstat::test
