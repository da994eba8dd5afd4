// The limit of the host: nothing but reading the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tensorstat::bench {

struct Limit {
  std::string way;             // what won, in words
  std::function<void()> read;  // reads every byte once
};

// Tries a few simple ways of reading `bytes` (a multiple of 8) with `threads` threads, which wait
// ready-made, and returns the fastest. Every 64-bit word goes into one exclusive-or, and a way
// whose result is wrong has not read them all: it throws.
Limit fastest_host_read(std::span<const std::byte> bytes, unsigned threads);

// Seconds that the fastest of a few calls takes.
double best_seconds(const std::function<void()>& work, int calls);

// The exclusive-or of all 64-bit words, by the plainest loop.
std::uint64_t plain_xor(std::span<const std::byte> bytes);

}  // namespace tensorstat::bench
