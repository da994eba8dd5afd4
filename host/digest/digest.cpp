#include "host/digest/digest.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace tensorstat {
namespace {

// Keeps the calling thread's queue of OpenSSL errors unchanged.
class QuietErrors {
 public:
  QuietErrors() noexcept { ERR_set_mark(); }
  ~QuietErrors() { ERR_pop_to_mark(); }
  unsigned long last() const noexcept { return ERR_peek_last_error(); }
};

struct Fetched {
  EVP_MD* md = nullptr;
  unsigned long reason = 0;  // OpenSSL's error code, if `md` is null
};

// One library context for both digests, made once and never freed: a digest may be computed while static objects are
// being destroyed.
OSSL_LIB_CTX* private_context() noexcept {
  static OSSL_LIB_CTX* const context = [] {
    OSSL_LIB_CTX* made = OSSL_LIB_CTX_new();
    if (made != nullptr && OSSL_PROVIDER_load(made, "default") == nullptr) {
      OSSL_LIB_CTX_free(made);
      made = nullptr;
    }
    return made;
  }();
  return context;
}

// "-fips" overrides a default of fips=yes, which a distribution may set for every context.
Fetched fetch(const char* algorithm) noexcept {
  QuietErrors errors;
  OSSL_LIB_CTX* const context = private_context();  // a null context would mean the program's own
  Fetched result;
  if (context != nullptr) result.md = EVP_MD_fetch(context, algorithm, "provider=default,-fips");
  if (result.md == nullptr) result.reason = errors.last();
  return result;
}

const char* name(Algorithm algorithm) { return algorithm == Algorithm::kMd5 ? "MD5" : "SHA1"; }

template <Algorithm algorithm>
const Fetched& fetched() noexcept {
  static const Fetched once = fetch(name(algorithm));
  return once;
}

// Never throws: without memory for the message, returns a short one that needs no allocation.
Error failure(Algorithm algorithm, const char* step, unsigned long reason) noexcept {
  try {
    char said[256] = "it gave no reason";
    if (reason != 0) ERR_error_string_n(reason, said, sizeof said);
    return {Code::kUnsupported, std::string("computing ") + name(algorithm) + ": OpenSSL " + step + " (" + said +
                                    "); it can be left out of the categories"};
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

constexpr const char* kNoAlgorithm =
    "has none, not even in its default provider: built or installed for FIPS only, or no memory";

}  // namespace

template <Algorithm algorithm>
void Hash<algorithm>::Free::operator()(evp_md_ctx_st* context) const noexcept {
  EVP_MD_CTX_free(context);
}

// Returns the name of the step that failed, or null.
template <Algorithm algorithm>
const char* Hash<algorithm>::start() noexcept {
  if (fetched<algorithm>().md == nullptr) return kNoAlgorithm;
  if (context_ == nullptr) context_.reset(EVP_MD_CTX_new());
  if (context_ == nullptr) return "made no context";
  if (EVP_DigestInit_ex2(context_.get(), fetched<algorithm>().md, nullptr) != 1) {
    return "did not start";
  }
  started_ = true;
  return nullptr;
}

template <Algorithm algorithm>
void Hash<algorithm>::update(std::span<const std::byte> piece) noexcept {
  if (failed_ != nullptr || (started_ && piece.empty())) return;
  QuietErrors errors;
  if (!started_) failed_ = start();
  if (failed_ == nullptr && EVP_DigestUpdate(context_.get(), piece.data(), piece.size()) != 1) {
    failed_ = "did not go on";
  }
  if (failed_ != nullptr) {
    const unsigned long fetching = fetched<algorithm>().reason;
    reason_ = fetching != 0 ? fetching : errors.last();
  }
}

template <Algorithm algorithm>
Result<typename Hash<algorithm>::Digest> Hash<algorithm>::finish() noexcept {
  if (!started_) update({});
  QuietErrors errors;
  Digest digest;
  if (failed_ == nullptr &&
      EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) != 1) {
    failed_ = "did not end";
    reason_ = errors.last();
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
