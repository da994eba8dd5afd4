#include "bench/limit_host.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <stdexcept>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "host/thread_pool.hpp"

namespace tensorstat::bench {
namespace {

using Read = std::uint64_t (*)(const std::byte* from, std::size_t bytes);

std::uint64_t word(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::uint64_t read_plain(const std::byte* from, std::size_t bytes) {
  std::uint64_t lanes[16] = {}, result = 0;
  std::size_t offset = 0;
  for (; offset + sizeof(lanes) <= bytes; offset += sizeof(lanes)) {
    for (std::size_t i = 0; i < 16; ++i) lanes[i] ^= word(from + offset + 8 * i);
  }
  for (; offset < bytes; offset += 8) result ^= word(from + offset);
  for (const std::uint64_t lane : lanes) result ^= lane;
  return result;
}

#if defined(__x86_64__)
// Eight loads of 64 bytes in flight. Prefetches `ahead` bytes, if that is not 0.
template <std::size_t ahead>
[[gnu::target("avx512f")]] std::uint64_t read_avx512(const std::byte* from, std::size_t bytes) {
  __m512i lanes[8];
  for (__m512i& lane : lanes) lane = _mm512_setzero_si512();
  std::size_t offset = 0;
  for (; offset + sizeof(lanes) <= bytes; offset += sizeof(lanes)) {
    for (std::size_t i = 0; i < 8; ++i) {
      if (ahead != 0) _mm_prefetch(reinterpret_cast<const char*>(from + offset + 64 * i + ahead), _MM_HINT_T0);
      lanes[i] = _mm512_xor_si512(lanes[i], _mm512_loadu_si512(from + offset + 64 * i));
    }
  }
  std::uint64_t result = read_plain(from + offset, bytes - offset), words[8];
  for (const __m512i& lane : lanes) {
    _mm512_storeu_si512(words, lane);
    for (const std::uint64_t each : words) result ^= each;
  }
  return result;
}

template <std::size_t ahead>
[[gnu::target("avx2")]] std::uint64_t read_avx2(const std::byte* from, std::size_t bytes) {
  __m256i lanes[8];
  for (__m256i& lane : lanes) lane = _mm256_setzero_si256();
  std::size_t offset = 0;
  for (; offset + sizeof(lanes) <= bytes; offset += sizeof(lanes)) {
    for (std::size_t i = 0; i < 8; ++i) {
      if (ahead != 0) _mm_prefetch(reinterpret_cast<const char*>(from + offset + 32 * i + ahead), _MM_HINT_T0);
      lanes[i] =
          _mm256_xor_si256(lanes[i], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + offset + 32 * i)));
    }
  }
  std::uint64_t result = read_plain(from + offset, bytes - offset), words[4];
  for (const __m256i& lane : lanes) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words), lane);
    for (const std::uint64_t each : words) result ^= each;
  }
  return result;
}
#endif

struct Way {
  const char* name;
  Read read;
};

std::vector<Way> ways() {
  std::vector<Way> all = {{"plain", read_plain}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    all.push_back({"avx2", read_avx2<0>});
    all.push_back({"avx2, 4 KiB ahead", read_avx2<4096>});
  }
  if (__builtin_cpu_supports("avx512f")) {
    all.push_back({"avx512", read_avx512<0>});
    all.push_back({"avx512, 4 KiB ahead", read_avx512<4096>});
  }
#endif
  return all;
}

// Threads take pieces of the bytes as they become free. With one thread, or few bytes, there is one piece.
std::uint64_t read_all(host::ThreadPool& pool, Read read, std::span<const std::byte> bytes, std::size_t piece_bytes) {
  if (piece_bytes >= bytes.size()) return read(bytes.data(), bytes.size());
  std::atomic<std::uint64_t> result{0};
  pool.run((bytes.size() + piece_bytes - 1) / piece_bytes, [&](std::size_t piece) {
    const std::span part = bytes.subspan(piece * piece_bytes);
    result.fetch_xor(read(part.data(), std::min(piece_bytes, part.size())), std::memory_order_relaxed);
  });
  return result.load();
}

}  // namespace

std::uint64_t plain_xor(std::span<const std::byte> bytes) {
  std::uint64_t result = 0;
  for (std::size_t offset = 0; offset < bytes.size(); offset += 8) result ^= word(bytes.data() + offset);
  return result;
}

double best_seconds(const std::function<void()>& work, int calls) {
  double best = std::numeric_limits<double>::infinity();
  for (int call = 0; call < calls; ++call) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

Limit fastest_host_read(std::span<const std::byte> bytes, unsigned threads) {
  const auto pool = std::make_shared<host::ThreadPool>(threads);
  const std::uint64_t expected = plain_xor(bytes);
  // Candidates: one piece, best for one thread and for small tensors; and pieces of at most 1 MiB.
  std::vector<std::size_t> pieces = {bytes.size()};
  if (threads > 1) pieces.push_back(std::clamp<std::size_t>(bytes.size() / (8 * threads), 4096, 1 << 20) / 8 * 8);
  Limit fastest;
  double best = std::numeric_limits<double>::infinity();
  for (const Way& way : ways()) {
    for (const std::size_t piece_bytes : pieces) {
      const auto read = [pool, bytes, piece_bytes, read = way.read, expected] {
        if (read_all(*pool, read, bytes, piece_bytes) != expected)
          throw std::runtime_error("the read-only stream is wrong");
      };
      const double seconds = best_seconds(read, 4);
      if (seconds >= best) continue;
      best = seconds;
      fastest = {std::string(way.name) + (piece_bytes < bytes.size() ? ", shared" : ""), read};
    }
  }
  return fastest;
}

}  // namespace tensorstat::bench
