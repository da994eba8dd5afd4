// SHA-256 (FIPS 180-4), for the kernels on disk.
#pragma once

#include <array>
#include <span>

namespace tensorstat::cl_engine {

using Sha256 = std::array<unsigned char, 32>;

// Not OpenSSL's: its shared library would be loaded into each helper process that tries a driver, which makes the start
// of that process a tenth longer. Nor can what an openssl.cnf demands, or memory that is short, keep a kernel from disk.
Sha256 sha256(std::span<const unsigned char> bytes) noexcept;

}  // namespace tensorstat::cl_engine
