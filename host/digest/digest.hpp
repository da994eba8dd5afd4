// Digests of a tensor's bytes: MD5, and the SHA-1 that newer MindSpore writes.
//
// OpenSSL computes the serial ones, from a library context of their own with its default provider:
// an openssl.cnf, a FIPS provider or default properties that refuse MD5 to the program do not reach
// it, and nothing here leaves an entry in the caller's OpenSSL error queue. Nothing throws; where
// a digest cannot be had, the Error says what OpenSSL said. Different objects may be used by
// different threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/status.hpp>

#include "host/simd/cpu.hpp"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace tensorstat {

enum class Algorithm : std::uint8_t { kMd5, kSha1 };

// The digest of one message that arrives in pieces.
template <Algorithm algorithm>
class Hash {
 public:
  using Digest = std::array<std::byte, algorithm == Algorithm::kMd5 ? 16 : 20>;

  // The first failure is kept, and finish() reports it.
  void update(std::span<const std::byte> piece) noexcept;

  // The digest of all pieces since the last finish(); afterwards the object is as new.
  Result<Digest> finish() noexcept;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  const char* start() noexcept;

  std::unique_ptr<evp_md_ctx_st, Free> context_;  // made at the first use
  bool started_ = false;
  const char* failed_ = nullptr;  // the step that failed
  unsigned long reason_ = 0;      // OpenSSL's code for it
};

using Md5 = Hash<Algorithm::kMd5>;
using Sha1 = Hash<Algorithm::kSha1>;
using Md5Digest = Md5::Digest;
using Sha1Digest = Sha1::Digest;

// Sees messages on their way: whoever wants more of them than their MD5 takes it while they are in the cache.
class Md5Observer {
 public:
  virtual ~Md5Observer() = default;
  // `message` enters a lane that is free: one below kMd5MostLanes, and below the number of messages.
  virtual void begin(std::size_t lane, std::size_t message) = 0;
  // Its next bytes, which are about to be digested: kObservedBytes of them, or all that are left.
  virtual void piece(std::size_t lane, std::span<const std::byte> bytes) = 0;
  virtual void end(std::size_t lane, std::size_t message, Result<Md5Digest> digest) = 0;
};
inline constexpr std::size_t kObservedBytes = 8192;

// The MD5 of each message. They go side by side through the lanes of `isa` on the calling thread, longest
// first, and a lane takes the next one as soon as its own ends; bench/md5_bench.cpp has the figures. Two or
// three go through ordinary registers, one through OpenSSL. It is an error where OpenSSL has no MD5, as
// for one message alone, and then no message has begun.
Status md5_many(std::span<const std::span<const std::byte>> messages, Md5Observer& observer,
                Isa isa = best_isa()) noexcept;

// The digests alone, each into the one of the same index; as many as messages. Of those that an error says to be
// missing none is written.
Status md5_many(std::span<const std::span<const std::byte>> messages, std::span<Md5Digest> digests,
                Isa isa = best_isa()) noexcept;

// The SHA-1 that MindSpore calls `hash` and `hash:sha1`, of a tensor that arrives in pieces cut
// anywhere. Up to 20,480 elements: SHA-1 of the bytes. More: the tensor is cut into slices of
// 20,480 elements (the last may be shorter), and it is the SHA-1 of the slices' digests, written
// one after another in lower-case hexadecimal.
class TwoLevelSha1 {
 public:
  static constexpr std::uint64_t kSliceElements = 20480;  // as MindSpore has it
  explicit TwoLevelSha1(std::uint64_t slice_bytes) noexcept;  // of so many elements

  void update(std::span<const std::byte> piece) noexcept;
  Result<Sha1Digest> finish() noexcept;  // afterwards the object is as new

 private:
  void close_slice() noexcept;

  Sha1 slice_, slices_;
  std::uint64_t slice_bytes_;       // of a full slice
  std::uint64_t filled_bytes_ = 0;  // of the open slice
  bool many_ = false;               // a slice has been closed
  std::optional<Error> failed_;     // the first failure of a closed slice
};

}  // namespace tensorstat
