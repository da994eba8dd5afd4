// The arithmetic of precision/fingerprints.h. One text for C++ and OpenCL C.
//
// A u32 is a polynomial over GF(2) with a degree below 32. Bit i is the coefficient of x^(31 - i), as in zlib's CRC-32.
#ifndef TENSORSTAT_PRECISION_CHECKSUM_H
#define TENSORSTAT_PRECISION_CHECKSUM_H

#define CRC_POLYNOMIAL 0xedb88320u  // without x^32
#define CRC_ONE 0x80000000u         // x^0

#ifdef __cplusplus
#define CRC_CONSTANT constexpr
#define CRC_SQUARES [[maybe_unused]] constexpr u32
#define CRC_SQUARES_SPACE
#else
#define CRC_CONSTANT
#define CRC_SQUARES constant u32
#define CRC_SQUARES_SPACE constant
#endif

// x^8 and x^-8 to the power of 2^k: they move a message by 2^k bytes on, and back. The next one would equal the first.
CRC_SQUARES crc_on[32] = {
  0x00800000u, 0x00008000u, 0xedb88320u, 0xb1e6b092u, 0xa06a2517u, 0xed627daeu, 0x88d14467u, 0xd7bbfe6au,
  0xec447f11u, 0x8e7ea170u, 0x6427800eu, 0x4d47bae0u, 0x09fe548fu, 0x83852d0fu, 0x30362f1au, 0x7b5a9cc3u,
  0x31fec169u, 0x9fec022au, 0x6c8dedc4u, 0x15d6874du, 0x5fde7a4eu, 0xbad90e37u, 0x2e4e5eefu, 0x4eaba214u,
  0xa8a472c0u, 0x429a969eu, 0x148d302au, 0xc40ba6d0u, 0xc4e22c3cu, 0x40000000u, 0x20000000u, 0x08000000u};
CRC_SQUARES crc_back[32] = {
  0x6567cb95u, 0xd7125358u, 0x5b358fd3u, 0x2e9bb40bu, 0x12a59a49u, 0x8df9403du, 0x5139de12u, 0xba340226u,
  0x29c45641u, 0x12fbc105u, 0xecd30c55u, 0x3755ebd8u, 0x24ee460cu, 0x23783fcfu, 0x479933fcu, 0xa39442a5u,
  0x9ea0056du, 0xf42608f6u, 0x20cacf04u, 0x2a0cf83du, 0xeffd8645u, 0x2a39a67du, 0x640ebd82u, 0x9dfd8792u,
  0x277402abu, 0xad31bc4fu, 0x31536354u, 0x5ea35fcau, 0x52b55e39u, 0xdb710641u, 0x6d930ac3u, 0x6d3d2d4du};

// value * x
INLINE CRC_CONSTANT u32 crc_doubled(const u32 value) { return value >> 1 ^ (value & 1 ? CRC_POLYNOMIAL : 0); }

// a * b
INLINE CRC_CONSTANT u32 crc_times(const u32 a, u32 b) {
  u32 product = 0;
  for (int i = 0; i < 32; ++i, b >>= 1) product = crc_doubled(product) ^ (b & 1 ? a : 0);
  return product;
}

// value * x^(8 bytes) if `squares` is crc_on, value * x^(-8 bytes) if it is crc_back.
INLINE CRC_CONSTANT u32 crc_moved(u32 value, CRC_SQUARES_SPACE const u32* squares, u64 bytes) {
  for (u32 k = 0; bytes != 0; ++k, bytes >>= 1) {
    if (bytes & 1) value = crc_times(value, squares[k & 31]);
  }
  return value;
}

// The entry of a table of 256 for a byte: its 8 bits, moved by one byte.
INLINE CRC_CONSTANT u32 crc_of_byte(u32 bits) {
  for (int i = 0; i < 8; ++i) bits = crc_doubled(bits);
  return bits;
}

// Moves an exclusive or of words of 8 bytes by so many bytes.
INLINE u64 xor_moved(const u64 value, const u64 bytes) {
  const u32 shift = 8 * (u32)(bytes & 7);
  return value << shift | value >> 1 >> (63 - shift);
}

#endif
