// Passes libFuzzer's input to the function that this program is built for.
#include <cstddef>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  tensorstat::fuzz::TARGET({reinterpret_cast<const char*>(bytes), count});
  return 0;
}
