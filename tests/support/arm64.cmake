# Debian's cross compiler for arm64, with the libraries that tests/support/arm64.sh has unpacked in the build folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${CMAKE_BINARY_DIR}/sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# The wrapper of this machine's MPI, a program, would be found.
set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)
# FindPython asks the interpreter where the headers are, but not when it crosses.
file(GLOB Python3_INCLUDE_DIR ${CMAKE_SYSROOT}/usr/include/python3.*)
# The man pages are written by a program of this build.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
