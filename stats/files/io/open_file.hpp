// How the library opens files.
#pragma once

#include <sys/types.h>

namespace tensorstat {

// open(2), closed on exec, with a descriptor above 2: a program that has closed its stderr would otherwise write
// its messages into our file. -1 and errno when it fails.
int open_file(const char* path, int flags, mode_t mode = 0);

}  // namespace tensorstat
