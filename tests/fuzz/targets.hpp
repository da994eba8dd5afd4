// The fuzz targets. Each function takes any bytes and aborts if a promise is broken. A sanitizer checks the rest.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace tensorstat::fuzz {

using Input = std::string_view;

#define TENSORSTAT_FUZZ_TARGET(name, most_bytes, runs) void name(Input bytes);
#include "tests/fuzz/targets.inc"
#undef TENSORSTAT_FUZZ_TARGET

struct Target {
  std::string_view name;  // also of its folder in tests/fuzz/corpus
  void (*run)(Input);
};
#define TENSORSTAT_FUZZ_TARGET(name, most_bytes, runs) {#name, name},
inline constexpr Target kTargets[] = {
#include "tests/fuzz/targets.inc"
};
#undef TENSORSTAT_FUZZ_TARGET

// An assert that is active in every build.
inline void demand(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

// A message must exist, be short, and be one line without control characters.
inline void demand_message(std::string_view message, std::size_t most_bytes) {
  demand(!message.empty(), "an error has words");
  demand(message.size() <= most_bytes, "a message is short");
  for (const unsigned char c : message) {
    demand(c >= ' ' && c != 0x7f, "a message holds no control character");
  }
}

}  // namespace tensorstat::fuzz
