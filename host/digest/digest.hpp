// Digests of a tensor's bytes: MD5, and the SHA-1 that newer MindSpore writes.
//
// OpenSSL computes single digests, in a library context of our own with its default provider. So an openssl.cnf, a FIPS
// provider or default properties that forbid MD5 in the program have no effect here. The caller's OpenSSL error queue
// is not changed. Nothing throws. OpenSSL is loaded for the first digest. If it is missing or fails, the Error says so.
// Different objects may be used by different threads at once.
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

  // The digest of all pieces since the last finish(). Resets the object.
  Result<Digest> finish() noexcept;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  const char* start() noexcept;

  std::unique_ptr<evp_md_ctx_st, Free> context_;  // created at the first use
  bool started_ = false;
  const char* failed_ = nullptr;  // the step that failed
  unsigned long reason_ = 0;      // OpenSSL's code for it
};

using Md5 = Hash<Algorithm::kMd5>;
using Sha1 = Hash<Algorithm::kSha1>;
using Md5Digest = Md5::Digest;
using Sha1Digest = Sha1::Digest;

// Sees the bytes of messages before they are digested, so that other results are computed while they are in the cache.
class Md5Observer {
 public:
  virtual ~Md5Observer() = default;
  // `message` starts in a free lane. The lane's number is below kMd5MostLanes and below the number of messages.
  virtual void begin(std::size_t lane, std::size_t message) = 0;
  // The message's next bytes, before they are digested: kObservedBytes, or fewer at the end.
  virtual void piece(std::size_t lane, std::span<const std::byte> bytes) = 0;
  virtual void end(std::size_t lane, std::size_t message, Result<Md5Digest> digest) = 0;
};
inline constexpr std::size_t kObservedBytes = 8192;

// Computes the MD5 of each message on the calling thread. The vector lanes of `isa` digest several messages at once,
// longest first; a lane takes the next message when its own ends. bench/md5_bench.cpp has the figures. Two or three
// messages use ordinary registers, a single one OpenSSL. If OpenSSL refuses MD5, this is an error for any number of
// messages, and no message has begun.
Status md5_many(std::span<const std::span<const std::byte>> messages, Md5Observer& observer,
                Isa isa = best_isa()) noexcept;

// Writes the digest of message i to digests[i]; there are as many digests as messages. On an error, missing digests are
// not written.
Status md5_many(std::span<const std::span<const std::byte>> messages, std::span<Md5Digest> digests,
                Isa isa = best_isa()) noexcept;

// The SHA-1 that MindSpore calls `hash` and `hash:sha1`, for a tensor in pieces of any length. Up to 20,480 elements it
// is the SHA-1 of the bytes. Otherwise the tensor is divided into slices of 20,480 elements (the last may be shorter),
// and it is the SHA-1 of the slices' concatenated digests in lower-case hexadecimal.
class TwoLevelSha1 {
 public:
  static constexpr std::uint64_t kSliceElements = 20480;      // as in MindSpore
  explicit TwoLevelSha1(std::uint64_t slice_bytes) noexcept;  // bytes of kSliceElements elements

  void update(std::span<const std::byte> piece) noexcept;
  Result<Sha1Digest> finish() noexcept;  // resets the object

 private:
  void close_slice() noexcept;

  Sha1 slice_, slices_;
  std::uint64_t slice_bytes_;       // bytes of a full slice
  std::uint64_t filled_bytes_ = 0;  // bytes in the open slice
  bool many_ = false;               // whether a slice has been closed
  std::optional<Error> failed_;     // the first failure of a closed slice
};

}  // namespace tensorstat
