// MD5 of many messages on one core, compared with OpenSSL's MD5 of one message after the other.
//
// Both run in turns within one benchmark, so that noise of the machine affects both. `times_openssl` is the ratio of
// their best rounds.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "host/digest/digest.hpp"

namespace {

using namespace tensorstat;
using Message = std::span<const std::byte>;

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// `apart_bytes`: distance between the beginnings of two messages.
void many(benchmark::State& state, Isa isa, std::size_t count, std::size_t most_bytes, std::size_t apart_bytes,
          bool mixed) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(count * apart_bytes + most_bytes);
  std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random()); });
  std::vector<Message> messages;
  std::size_t total_bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = mixed ? random() % most_bytes : most_bytes;
    messages.push_back(Message(bytes).subspan(i * apart_bytes, size));
    total_bytes += size;
  }

  std::vector<Md5Digest> digests(count), expected(count);
  double best = std::numeric_limits<double>::infinity(), best_openssl = best;
  for (auto _ : state) {
    const double openssl = seconds_of([&] {
      Md5 md5;
      for (std::size_t i = 0; i < count; ++i) {
        md5.update(messages[i]);
        expected[i] = *md5.finish();
      }
    });
    Status status;
    const double lanes = seconds_of([&] { status = md5_many(messages, digests, isa); });
    if (!status || digests != expected) {
      state.SkipWithError("wrong digests");
      return;
    }
    state.SetIterationTime(lanes);
    best = std::min(best, lanes);
    best_openssl = std::min(best_openssl, openssl);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * total_bytes));
  state.counters["best_GB/s"] = 1e-9 * static_cast<double>(total_bytes) / best;
  state.counters["openssl_GB/s"] = 1e-9 * static_cast<double>(total_bytes) / best_openssl;
  state.counters["times_openssl"] = best_openssl / best;
}

struct Set {
  const char* what;
  std::size_t count, most_bytes, apart_bytes;
  bool mixed = false;
};

// Allocators place large tensors 16 bytes into a page each: all at the same offset in a page.
constexpr std::size_t kPage = 4096, kKiB = 1024;
constexpr Set kSets[] = {
    {"64x64KiB", 64, 64 * kKiB, 64 * kKiB + kPage},
    {"32x64KiB", 32, 64 * kKiB, 64 * kKiB + kPage},
    {"64x64KiB_spread", 64, 64 * kKiB, 64 * kKiB + 448},
    {"10000x4KiB", 10000, 4 * kKiB, 4 * kKiB},
    {"1000x0-128KiB", 1000, 128 * kKiB, 128 * kKiB, true},
    {"10000x64B", 10000, 64, 64},
    {"1x64KiB", 1, 64 * kKiB, 0},
    {"2x64KiB", 2, 64 * kKiB, 64 * kKiB + kPage},
    {"3x64KiB", 3, 64 * kKiB, 64 * kKiB + kPage},
    {"4x64KiB", 4, 64 * kKiB, 64 * kKiB + kPage},
    {"8x64KiB", 8, 64 * kKiB, 64 * kKiB + kPage},
    {"16x64KiB", 16, 64 * kKiB, 64 * kKiB + kPage},
};

}  // namespace

int main(int argc, char** argv) {
  for (Isa isa : runnable_isas()) {
    for (const Set& set : kSets) {
      const std::string title = std::string("md5_many/") + set.what + "/" + std::string(name(isa));
      benchmark::RegisterBenchmark(title.c_str(), many, isa, set.count, set.most_bytes, set.apart_bytes, set.mixed)
          ->UseManualTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
