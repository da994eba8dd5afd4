// Exact sums. One text for C++ and OpenCL C. A sum is a fixed-point number: 64-bit words, 32 bits apart.
//
// Word i counts 2^(32 i) units. A deposit adds less than 2^32 to each word, so a carry is needed only after 2^30
// deposits. Words are only added, so sums merge in any order to the same bits. This is Neal's "small superaccumulator"
// (arXiv:1505.05571) without its special values, which are counted instead.
//
// WORDS is the address space of the words. ADD and RAISE are += and max=, atomic if lanes share the words.
#ifndef TENSORSTAT_PRECISION_EXACT_H
#define TENSORSTAT_PRECISION_EXACT_H

// Adds value * 2^position units to the words from position / 32 on; it touches three of them.
INLINE void deposit(WORDS i64* words, i64 value, u32 position) {
  const u32 shift = position & 31;
  const i64 low = (value & 0xffffffff) << shift;
  const i64 high = (i64)((u64)(value >> 32) << shift);
  WORDS i64* word = words + (position >> 5);
  ADD(word[0], low & 0xffffffff);
  ADD(word[1], (low >> 32) + (high & 0xffffffff));
  ADD(word[2], high >> 32);
}

// Adds n times an unsigned value, n below 2^31 in size.
INLINE void deposit_times(WORDS i64* words, u64 value, i64 n, u32 position) {
  deposit(words, n * (i64)(value & 0xffffffff), position);
  if (value >> 32 != 0) deposit(words, n * (i64)(value >> 32), position + 32);
}

// Brings every word but the last into [0, 2^32). The last keeps the sign. One lane does this. Words that were read from
// a file may be any, and wrap.
INLINE void carry_words(WORDS i64* words, int count) {
  for (int i = 0; i + 1 < count; ++i) {
    words[i + 1] = (i64)((u64)words[i + 1] + (u64)(words[i] >> 32));
    words[i] &= 0xffffffff;
  }
}

// The same for each exact sum of a partial that keeps `needs`. `family` must be a plain name.
#define CARRY_SUM(id, sum_words, power, need, optional, above, below, family)         \
  if (!(optional) || (kept & NEED_ALL) >= NEED_##need) {                              \
    carry_words(carried + CAT(OFFSET_##id##_, family), (int)CAT(sum_words##_, family)); \
  }
#define CARRY_SUMS(family, needs, partial) \
  {                                        \
    const int kept = (needs);              \
    WORDS i64* const carried = (partial);  \
    EXACT_ROWS(CARRY_SUM, family)          \
  }

#endif
