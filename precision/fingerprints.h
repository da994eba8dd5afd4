// Checksums of the elements' bytes, little-endian and in C order, that merge over any cut: a word each. One text for C++ and
// OpenCL C, and the only list of them.
//
// Both are linear: the word of a part is that of the whole with zeros in place of all else. So parts merge by exclusive or,
// once each is moved to where it begins (checksum.h). A word counts from the first element of what was folded, as an index
// does (indices.h): whoever puts parts together says where each begins.
#ifndef TENSORSTAT_PRECISION_FINGERPRINTS_H
#define TENSORSTAT_PRECISION_FINGERPRINTS_H

// What asks for them, and their words in this order. ROW(id, name of the same bit in <tensorstat/partial.hpp>)
#define FINGERPRINT_ROWS(ROW)                                                               \
  ROW(CRC32, kCrc32) /* b[0] x^-8 + b[1] x^-16 + ..., times x^32, modulo the polynomial */ \
  ROW(XOR64, kXor64) /* of words of 8 bytes, the first of which begins at byte 0        */

#endif
