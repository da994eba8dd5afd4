// C++14 with the old ABI of the standard library, as MindSpore's third-party code is built.
#include <string>

#include "tests/c/backend.h"

#if _GLIBCXX_USE_CXX11_ABI
#error "this program is to be built with the old ABI"
#endif

int main(int argc, char** argv) {
  const std::string words(tensorstat_last_error());  // a string of the old ABI, in a process with the library's new ABI
  return words.empty() ? run_backend(argc, argv) : 1;
}
