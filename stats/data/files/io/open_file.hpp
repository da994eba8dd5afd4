// How the library opens files.
#pragma once

#include <sys/types.h>

namespace tensorstat {

// open(2) with O_CLOEXEC and a descriptor above 2: if a program has closed its stderr, its messages must not go into
// our file. On failure -1 and errno.
int open_file(const char* path, int flags, mode_t mode = 0);

}  // namespace tensorstat
