// SHA-256, for the kernels on disk.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace tensorstat::cl_engine {

using Sha256 = std::array<unsigned char, 32>;

// By OpenSSL, in a library context of its own: what an openssl.cnf or the program demands of OpenSSL does not reach
// it, and the caller's queue of OpenSSL errors stays as it is. Nothing where OpenSSL has none, or no memory.
std::optional<Sha256> sha256(std::span<const unsigned char> bytes) noexcept;

}  // namespace tensorstat::cl_engine
