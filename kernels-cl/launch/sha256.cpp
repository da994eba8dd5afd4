#include "kernels-cl/launch/sha256.hpp"

#include <openssl/err.h>
#include <openssl/evp.h>

namespace tensorstat::cl_engine {
namespace {

// Never freed: a kernel may be wanted while the program's static objects are being destroyed.
OSSL_LIB_CTX* private_context() noexcept {
  static OSSL_LIB_CTX* const context = OSSL_LIB_CTX_new();
  return context;
}

}  // namespace

std::optional<Sha256> sha256(std::span<const unsigned char> bytes) noexcept {
  ERR_set_mark();
  Sha256 digest{};
  std::size_t written = 0;
  OSSL_LIB_CTX* const context = private_context();  // a null one would be the program's own
  const bool done = context != nullptr && EVP_Q_digest(context, "SHA256", nullptr, bytes.data(), bytes.size(),
                                                       digest.data(), &written) == 1;
  ERR_pop_to_mark();
  return done && written == digest.size() ? std::optional(digest) : std::nullopt;
}

}  // namespace tensorstat::cl_engine
