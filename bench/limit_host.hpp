// The limit of the host: only reads the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tensorstat::bench {

struct Limit {
  std::string way;             // description of the fastest way
  std::function<void()> read;  // reads every byte once
};

// Tries a few simple ways of reading `bytes` (a multiple of 8) with `threads` waiting threads, and returns the fastest.
// Each way computes the exclusive-or of all 64-bit words. Throws if the result is wrong, because then some bytes were
// not read.
Limit fastest_host_read(std::span<const std::byte> bytes, unsigned threads);

// Seconds of the fastest of a few calls.
double best_seconds(const std::function<void()>& work, int calls);

// The exclusive-or of all 64-bit words, by a simple loop.
std::uint64_t plain_xor(std::span<const std::byte> bytes);

}  // namespace tensorstat::bench
