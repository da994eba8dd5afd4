// What the command's exit status means; --help says the same in words.
#pragma once

namespace tensorstat::cli {

// Of several, the greatest is given: an error wins over a finding, as with grep.
enum Exit : int {
  kDone = 0,
  kFound = 1,       // a tensor meets a rule of --fail-on; nothing failed
  kUsage = 2,       // the command line makes no sense; nothing was done
  kNotRead = 3,     // some input could not be read; the others were done and written
  kNoDevice = 4,    // --on device was asked for and no device can do it, or --device names none
  kNotWritten = 5,  // the results could not be written
};

}  // namespace tensorstat::cli
