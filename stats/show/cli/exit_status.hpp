// The command's exit statuses. --help lists the same.
#pragma once

namespace tensorstat::cli {

// If several apply, the greatest is returned: as with grep, an error wins over a finding.
enum Exit : int {
  kDone = 0,
  kFound = 1,       // a tensor meets a rule of --fail-on; no errors
  kUsage = 2,       // wrong command line; nothing was done
  kNotRead = 3,     // some input could not be read; the others were processed and written
  kNoDevice = 4,    // no device can compute what --on device asks for, or --device names none
  kNotWritten = 5,  // the results could not be written
};

}  // namespace tensorstat::cli
