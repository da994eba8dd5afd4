#include "host/digest/digest.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "stats/core/base/loaded_library.hpp"

namespace tensorstat {
namespace {

#define TENSORSTAT_CRYPTO_FUNCTIONS(F) \
  F(ERR_set_mark)                      \
  F(ERR_pop_to_mark)                   \
  F(ERR_peek_last_error)               \
  F(ERR_error_string_n)                \
  F(OSSL_LIB_CTX_new)                  \
  F(OSSL_LIB_CTX_free)                 \
  F(OSSL_PROVIDER_load)                \
  F(EVP_MD_fetch)                      \
  F(EVP_MD_CTX_new)                    \
  F(EVP_MD_CTX_free)                   \
  F(EVP_DigestInit_ex2)                \
  F(EVP_DigestUpdate)                  \
  F(EVP_DigestFinal_ex)

struct Crypto {
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_CRYPTO_FUNCTIONS)
};

// nullptr if OpenSSL is not installed.
const Crypto* crypto() noexcept { return loaded<Crypto>(TENSORSTAT_CRYPTO_LIBRARY); }

// Keeps the calling thread's queue of OpenSSL errors unchanged.
class QuietErrors {
 public:
  explicit QuietErrors(const Crypto& crypto) noexcept : crypto_(crypto) { crypto_.ERR_set_mark_(); }
  ~QuietErrors() { crypto_.ERR_pop_to_mark_(); }
  unsigned long last() const noexcept { return crypto_.ERR_peek_last_error_(); }

 private:
  const Crypto& crypto_;
};

struct Fetched {
  EVP_MD* md = nullptr;
  unsigned long reason = 0;  // OpenSSL's error code, if `md` is null
};

// One library context for both digests, made once and never freed: a digest may be computed while static objects are
// being destroyed.
OSSL_LIB_CTX* private_context(const Crypto& crypto) noexcept {
  static OSSL_LIB_CTX* const context = [&] {
    OSSL_LIB_CTX* made = crypto.OSSL_LIB_CTX_new_();
    if (made != nullptr && crypto.OSSL_PROVIDER_load_(made, "default") == nullptr) {
      crypto.OSSL_LIB_CTX_free_(made);
      made = nullptr;
    }
    return made;
  }();
  return context;
}

// "-fips" overrides a default of fips=yes, which a distribution may set for every context.
Fetched fetch(const Crypto& crypto, const char* algorithm) noexcept {
  QuietErrors errors(crypto);
  OSSL_LIB_CTX* const context = private_context(crypto);  // a null context would mean the program's own
  Fetched result;
  if (context != nullptr) result.md = crypto.EVP_MD_fetch_(context, algorithm, "provider=default,-fips");
  if (result.md == nullptr) result.reason = errors.last();
  return result;
}

const char* name(Algorithm algorithm) { return algorithm == Algorithm::kMd5 ? "MD5" : "SHA1"; }

template <Algorithm algorithm>
const Fetched& fetched(const Crypto& crypto) noexcept {
  static const Fetched once = fetch(crypto, name(algorithm));
  return once;
}

// Never throws: without memory for the message, returns a short one that needs no allocation.
Error failure(Algorithm algorithm, const char* step, unsigned long reason) noexcept {
  try {
    std::string why;
    if (reason != 0) {
      char message[256];
      crypto()->ERR_error_string_n_(reason, message, sizeof message);
      why.append(" (").append(message).append(")");
    }
    return {Code::kUnsupported, std::string("computing ") + name(algorithm) + ": OpenSSL " + step + why +
                                    "; it can be left out of the categories"};
  } catch (const std::exception&) {
    return {Code::kUnsupported, "out of memory"};
  }
}

void write_hex(std::span<const std::byte> digest, char* out) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  for (std::byte byte : digest) {
    *out++ = kDigits[std::to_integer<unsigned>(byte) >> 4];
    *out++ = kDigits[std::to_integer<unsigned>(byte) & 15];
  }
}

constexpr const char* kNotLoaded =
    "is missing: " TENSORSTAT_CRYPTO_LIBRARY " cannot be loaded, apt-get install libssl3";
constexpr const char* kNoAlgorithm =
    "has none, not even in its default provider: built or installed for FIPS only, or no memory";

}  // namespace

template <Algorithm algorithm>
void Hash<algorithm>::Free::operator()(evp_md_ctx_st* context) const noexcept {
  crypto()->EVP_MD_CTX_free_(context);
}

// Returns the name of the step that failed, or null.
template <Algorithm algorithm>
const char* Hash<algorithm>::start() noexcept {
  const Fetched& implementation = fetched<algorithm>(*crypto());
  if (implementation.md == nullptr) return kNoAlgorithm;
  if (context_ == nullptr) context_.reset(crypto()->EVP_MD_CTX_new_());
  if (context_ == nullptr) return "made no context";
  if (crypto()->EVP_DigestInit_ex2_(context_.get(), implementation.md, nullptr) != 1) return "did not start";
  started_ = true;
  return nullptr;
}

template <Algorithm algorithm>
void Hash<algorithm>::update(std::span<const std::byte> piece) noexcept {
  if (failed_ != nullptr || (started_ && piece.empty())) return;
  if (crypto() == nullptr) {
    failed_ = kNotLoaded;
    reason_ = 0;
    return;
  }
  QuietErrors errors(*crypto());
  if (!started_) failed_ = start();
  if (failed_ == nullptr && crypto()->EVP_DigestUpdate_(context_.get(), piece.data(), piece.size()) != 1) {
    failed_ = "did not go on";
  }
  if (failed_ != nullptr) {
    const unsigned long fetching = fetched<algorithm>(*crypto()).reason;
    reason_ = fetching != 0 ? fetching : errors.last();
  }
}

template <Algorithm algorithm>
Result<typename Hash<algorithm>::Digest> Hash<algorithm>::finish() noexcept {
  if (!started_) update({});
  Digest digest;
  if (failed_ == nullptr) {
    QuietErrors errors(*crypto());
    if (crypto()->EVP_DigestFinal_ex_(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1) {
      failed_ = "did not end";
      reason_ = errors.last();
    }
  }
  started_ = false;
  if (const char* step = std::exchange(failed_, nullptr)) return failure(algorithm, step, reason_);
  return digest;
}

template class Hash<Algorithm::kMd5>;
template class Hash<Algorithm::kSha1>;

TwoLevelSha1::TwoLevelSha1(std::uint64_t slice_bytes) noexcept : slice_bytes_(slice_bytes) {}

// A full slice is closed only if more follows. A single slice's digest is the tensor's digest.
void TwoLevelSha1::update(std::span<const std::byte> piece) noexcept {
  while (!piece.empty()) {
    if (filled_bytes_ == slice_bytes_) close_slice();
    const std::size_t take = std::min<std::uint64_t>(piece.size(), slice_bytes_ - filled_bytes_);
    slice_.update(piece.first(take));
    filled_bytes_ += take;
    piece = piece.subspan(take);
  }
}

void TwoLevelSha1::close_slice() noexcept {
  auto digest = slice_.finish();
  filled_bytes_ = 0;
  many_ = true;
  if (!digest) {
    if (!failed_) failed_ = std::move(digest).error();
    return;
  }
  std::array<char, 2 * sizeof(Sha1Digest)> text;
  write_hex(*digest, text.data());
  slices_.update(std::as_bytes(std::span(text)));
}

Result<Sha1Digest> TwoLevelSha1::finish() noexcept {
  if (many_) close_slice();
  filled_bytes_ = 0;
  auto digest = std::exchange(many_, false) ? slices_.finish() : slice_.finish();
  if (failed_) return *std::exchange(failed_, std::nullopt);
  return digest;
}

}  // namespace tensorstat
