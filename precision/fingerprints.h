// Checksums of the elements' bytes, little-endian and in C order. Each is one word, and parts of any size merge. One
// text for C++ and OpenCL C, and the only list of them.
//
// Both are linear: the word of a part is the word of the whole tensor with zeros in place of all other bytes. So parts
// merge by exclusive or, after each is moved to its first byte (checksum.h). A word begins at the first element that
// was folded, as an index does (indices.h). Whoever merges parts says where each begins.
#ifndef TENSORSTAT_PRECISION_FINGERPRINTS_H
#define TENSORSTAT_PRECISION_FINGERPRINTS_H

// Their needs and, in this order, their words. ROW(id, its name in stats/core/engine/needs.hpp)
#define FINGERPRINT_ROWS(ROW)                                                              \
  ROW(CRC32, kCrc32) /* b[0] x^-8 + b[1] x^-16 + ..., times x^32, modulo the polynomial */ \
  ROW(XOR64, kXor64) /* exclusive or of words of 8 bytes; the first begins at byte 0    */

#endif
