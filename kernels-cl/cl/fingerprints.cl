// The words of precision/fingerprints.h. A second reading of the slice's bytes computes them.

#ifdef SHAPE_SLICE
#define CRC_PARTS 4
INLINE void take_fingerprints(i64* partial, global const u8* bytes, const u64 count) {
  if (NEEDS & NEED_CRC32) {
    // Row k has crc * x^32 for each value of the k-th byte of crc. The exclusive or of four rows is the remainder.
    u32 table[4][256];
    for (int byte = 0; byte < 256; ++byte) table[3][byte] = crc_of_byte((u32)byte);
    for (int k = 2; k >= 0; --k) {
      for (int byte = 0; byte < 256; ++byte) {
        table[k][byte] = table[k + 1][byte] >> 8 ^ table[3][table[k + 1][byte] & 0xff];
      }
    }
    // A look-up waits for the one before it. So the bytes are cut into parts: the parts do not wait for each other.
    u32 parts[CRC_PARTS];
    for (int k = 0; k < CRC_PARTS; ++k) parts[k] = 0;
    const u64 bytes_of_part = count / (4 * CRC_PARTS) * 4;
    for (u64 i = 0; i < bytes_of_part; i += 4) {
#pragma unroll
      for (int k = 0; k < CRC_PARTS; ++k) {
        const u32 crc = parts[k] ^ as_uint(vload4(0, bytes + k * bytes_of_part + i));
        parts[k] = table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^ table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
      }
    }
    const u32 one_part_back = crc_moved(CRC_ONE, crc_back, bytes_of_part);
    u32 sum = 0, crc = 0;
    for (int k = CRC_PARTS - 1; k >= 0; --k) sum = crc_times(sum ^ parts[k], one_part_back);
    for (u64 i = CRC_PARTS * bytes_of_part; i < count; ++i) crc = crc >> 8 ^ table[3][(crc ^ bytes[i]) & 0xff];
    partial[OFFSET(FINGERPRINTS) + FINGERPRINT_WORD_CRC32] = (i64)(sum ^ crc_moved(crc, crc_back, count));
  }
  if (NEEDS & NEED_XOR64) {
    ulong2 words = 0;
    u64 i = 0;
    for (; i + 16 <= count; i += 16) words ^= as_ulong2(vload16(0, bytes + i));
    u64 all = words.x ^ words.y;
    for (; i < count; ++i) all ^= (u64)bytes[i] << 8 * (i & 7);
    partial[OFFSET(FINGERPRINTS) + FINGERPRINT_WORD_XOR64] = (i64)all;
  }
}
#endif

#ifdef SHAPE_GROUP
// Words of local memory: two tables, then two sums of remainders, then the exclusive or of the lower halves and of the upper
// halves. Row k of a table has crc * x^n for each value of the k-th four bits of crc. The first table advances by 4 bytes, the
// second from the end of a lane's vector to the beginning of its next one. Some devices lack local memory for larger tables.
#define CRC_TABLE (8 * 16)
#define CRC_SUMS (2 * CRC_TABLE)
#define XOR_SUMS (CRC_SUMS + 2)
#define FINGERPRINT_LOCAL_WORDS (NEEDS & NEED_FINGERPRINTS ? XOR_SUMS + 2 : 1)

// A barrier must follow. The first word is written in any case: pocl 6 ends the process that compiles a kernel with a local
// variable that nothing uses.
INLINE void open_fingerprints(local u32* words, const u32 lane) {
  if ((NEEDS & NEED_FINGERPRINTS) == 0) {
    if (lane == 0) words[0] = 0;
    return;
  }
  for (u32 i = lane; i < 4; i += LANES_A_GROUP) words[CRC_SUMS + i] = 0;
  if ((NEEDS & NEED_CRC32) == 0) return;
#pragma unroll 1
  for (u32 i = lane; i < 2 * CRC_TABLE; i += LANES_A_GROUP) {
    const u32 bits = (i & 15) << 4 * (i >> 4 & 7);
    words[i] = crc_moved(bits, crc_on, i < CRC_TABLE ? 4 : 16 * (LANES_A_GROUP - 1));
  }
}

INLINE u32 crc_looked_up(local const u32* table, const u32 crc) {
  u32 sum = 0;
#pragma unroll
  for (u32 k = 0; k < 8; ++k) sum ^= table[16 * k + (crc >> 4 * k & 15)];
  return sum;
}

// The CRC of each LANES_A_GROUP-th vector of 16 bytes, moved back as if the lane were lane 0.
INLINE u32 crc_of_lane(local const u32* words, global const uint4* vectors, const u32 count, const u32 lane) {
  u32 crc = 0;
#pragma unroll 1
  for (u32 i = lane; i < count; i += LANES_A_GROUP) {
    const uint4 vector = vectors[i];
    crc = crc_looked_up(words, crc_looked_up(words + CRC_TABLE, crc) ^ vector.x);
    crc = crc_looked_up(words, crc ^ vector.y);
    crc = crc_looked_up(words, crc ^ vector.z);
    crc = crc_looked_up(words, crc ^ vector.w);
  }
  return crc_moved(crc, crc_back, 16 * lane);
}

// The checksums of the slice's bytes [first, end), which are few.
INLINE u32 crc_of_bytes(global const u8* bytes, const u32 first, const u32 end) {
  u32 crc = 0;
#pragma unroll 1
  for (u32 i = first; i < end; ++i) crc = crc >> 8 ^ crc_of_byte((crc ^ bytes[i]) & 0xff);
  return crc_moved(crc, crc_back, end);
}
INLINE u64 xor_of_bytes(global const u8* bytes, const u32 first, const u32 end) {
  u64 word = 0;
#pragma unroll 1
  for (u32 i = first; i < end; ++i) word ^= (u64)bytes[i] << 8 * (i & 7);
  return word;
}

// A macro for the reason of MERGE_PARTIAL. A slice has a head, vectors of 16 bytes, and a tail. Some lanes have one vector
// more than others; each kind of lanes has its own sum.
#define CLOSE_FINGERPRINTS(words, bytes, count, lane, partial)                                                 \
  if (NEEDS & NEED_FINGERPRINTS) {                                                                             \
    const u32 byte_count = count, before = min((u32)((0 - (size_t)(bytes)) & 15), byte_count);                 \
    const u32 whole = (byte_count - before) / 16, behind = before + 16 * whole;                                \
    const u32 rounds = (whole + LANES_A_GROUP - 1) / LANES_A_GROUP;                                            \
    global const uint4* from = (global const uint4*)((bytes) + before);                                        \
    if (NEEDS & NEED_CRC32) {                                                                                  \
      const u32 is_shorter = lane + (rounds - 1) * LANES_A_GROUP >= whole ? 1 : 0;                             \
      (void)atomic_xor(&words[CRC_SUMS + is_shorter], crc_of_lane(words, from, whole, lane));                  \
    }                                                                                                          \
    if (NEEDS & NEED_XOR64) {                                                                                  \
      uint4 all = 0;                                                                                           \
      for (u32 i = lane; i < whole; i += LANES_A_GROUP) all ^= from[i];                                        \
      (void)atomic_xor(&words[XOR_SUMS], all.x ^ all.z);                                                       \
      (void)atomic_xor(&words[XOR_SUMS + 1], all.y ^ all.w);                                                   \
    }                                                                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
    if ((NEEDS & NEED_CRC32) && lane == 0) {                                                                   \
      u32 crc = crc_of_bytes(bytes, 0, before) ^ crc_of_bytes(bytes, behind, byte_count);                      \
      for (u32 i = 0; i < 2 && i < rounds; ++i) {                                                              \
        crc ^= crc_moved(words[CRC_SUMS + i], crc_back, before + 16 * ((rounds - 1 - i) * LANES_A_GROUP + 1)); \
      }                                                                                                        \
      partial[OFFSET(FINGERPRINTS) + FINGERPRINT_WORD_CRC32] = (i64)crc;                                       \
    }                                                                                                          \
    if ((NEEDS & NEED_XOR64) && lane == 0) {                                                                   \
      const u64 all = xor_moved((u64)words[XOR_SUMS + 1] << 32 | words[XOR_SUMS], before);                     \
      partial[OFFSET(FINGERPRINTS) + FINGERPRINT_WORD_XOR64] =                                                 \
          (i64)(all ^ xor_of_bytes(bytes, 0, before) ^ xor_of_bytes(bytes, behind, byte_count));               \
    }                                                                                                          \
  }
#endif
