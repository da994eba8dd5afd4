// From the start of a process to its first result, compared with a process that does almost nothing. The process is
// first_result.cpp. It has run before, so that a driver's disk cache is filled, as in a user's second run.
#include <spawn.h>
#include <sys/wait.h>

#include "bench/contest.hpp"

namespace tensorstat::bench {

void enter_start_up(const std::string& program) {
  for (const char* what :
       {"limit:nothing", "limit:empty-kernel", "tensorstat:host", "tensorstat:device", "tensorstat:device-once"}) {
    const std::string name = what, mode = name.substr(name.find(':') + 1);
    enter("start-up", name, 0, 0, [=] {
      return Contestant{[=] {
        std::string arguments[2] = {program, mode};
        char* argv[] = {arguments[0].data(), arguments[1].data(), nullptr};
        pid_t child = 0;
        int status = 0;
        if (posix_spawn(&child, program.c_str(), nullptr, nullptr, argv, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0) {
          throw std::runtime_error("`" + program + " " + mode + "` failed");
        }
      }};
    });
  }
}

}  // namespace tensorstat::bench
