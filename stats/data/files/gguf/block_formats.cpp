#include "stats/data/files/gguf/block_formats.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "stats/data/files/gguf/block_decoding.hpp"

namespace tensorstat {
namespace blocks {
namespace {

// Byte i is 16 where bit i of `bits` is set. A shift by a variable would keep the loop scalar.
std::uint64_t fifth_bits(std::uint8_t bits) {
  const std::uint64_t apart = bits * 0x0101010101010101u & 0x8040201008040201u;  // byte i has bit i
  const std::uint64_t sixteens = (apart + 0x00406070787c7e7fu) >> 3 & 0x1010101010101010u;
  return std::endian::native == std::endian::big ? __builtin_bswap64(sixteens) : sixteens;
}

// The formats of 32 values. Value i and value i + 16 share a byte: the low half and the high one.
struct Q8_0 {
  static constexpr std::uint32_t kValues = 32, kBytes = 34;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<std::int8_t>(block[2 + i]);
  }
};

// kHas5Bits: a fifth bit of each value, in 32 bits before the others. kHasOffset: an offset is added; if not, the
// middle of the integers is 0.
template <bool kHas5Bits, bool kHasOffset>
struct Q4Or5 {
  static constexpr std::uint32_t kHighAt = kHasOffset ? 4 : 2, kLowAt = kHighAt + (kHas5Bits ? 4 : 0);
  static constexpr std::uint32_t kValues = 32, kBytes = kLowAt + 16;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block), offset = kHasOffset ? half(block + 2) : 0;
    // In bytes first, then as floats: each loop is one of vectors.
    std::uint8_t numbers[32];
    for (int i = 0; i < 16; ++i) {
      numbers[i] = block[kLowAt + i] & 0xf;
      numbers[16 + i] = block[kLowAt + i] >> 4;
    }
    if constexpr (kHas5Bits) {
      const Bytes high = block + kHighAt;
      const std::uint64_t fifth[] = {fifth_bits(high[0]), fifth_bits(high[1]), fifth_bits(high[2]),
                                     fifth_bits(high[3])};
      std::uint64_t eights[4];
      std::memcpy(eights, numbers, 32);
      for (int i = 0; i < 4; ++i) eights[i] |= fifth[i];
      std::memcpy(numbers, eights, 32);
    }
    for (int i = 0; i < 32; ++i) {
      if constexpr (kHasOffset) {
        values[i] = scale * static_cast<float>(numbers[i]) + offset;
      } else {
        values[i] = scale * static_cast<float>(numbers[i] - (kHas5Bits ? 16 : 8));
      }
    }
  }
};

// The formats of 256 values, in groups of 16 or 32 with a scale of their own. Bits of groups that lie apart share a
// byte: of 2 bits, byte i has value i of every second group of 16 in a half of the block.
struct Q2K {
  static constexpr std::uint32_t kValues = 256, kBytes = 84;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block + 80), minimum = half(block + 82);
    for (int group = 0; group < 16; ++group, values += 16) {
      const float step = scale * static_cast<float>(block[group] & 0xf);
      const float least = minimum * static_cast<float>(block[group] >> 4);
      const Bytes bits = block + 16 + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) values[i] = step * static_cast<float>(bits[i] >> shift & 3) - least;
    }
  }
};

struct Q3K {
  static constexpr std::uint32_t kValues = 256, kBytes = 110;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block + 108);
    const Bytes scales = block + 96;  // 6 bits each: eight bytes have the low four of all, four bytes the high two
    for (int group = 0; group < 16; ++group, values += 16) {
      const int low = group < 8 ? scales[group] & 0xf : scales[group - 8] >> 4;
      const int high = scales[8 + group % 4] >> group / 4 * 2 & 3;
      const float step = scale * static_cast<float>((high << 4 | low) - 32);
      const Bytes bits = block + 32 + group / 8 * 32 + group % 2 * 16, third = block + group % 2 * 16;
      const int shift = group % 8 / 2 * 2, of_third = group / 2;
      // The third bit is inverted: without it, 4 is subtracted.
      for (int i = 0; i < 16; ++i) {
        const int value = (bits[i] >> shift & 3) + (third[i] >> of_third & 1) * 4 - 4;
        values[i] = step * static_cast<float>(value);
      }
    }
  }
};

template <bool kHas5Bits>
struct Q4Or5K {
  static constexpr std::uint32_t kLowAt = kHas5Bits ? 48 : 16;
  static constexpr std::uint32_t kValues = 256, kBytes = kLowAt + 128;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block), minimum = half(block + 2);
    const Bytes scales = block + 4, high = block + 16;
    for (int group = 0; group < 8; ++group, values += 32) {
      // Scales and minimums have 6 bits. The first four of each are in the lower 6 bits of 8 bytes. The upper two bits
      // of these bytes are the upper two bits of the last four.
      const bool is_first = group < 4;
      const int of_scale = is_first ? scales[group] & 63 : (scales[group + 4] & 0xf) | scales[group - 4] >> 6 << 4;
      const int of_minimum = is_first ? scales[group + 4] & 63 : scales[group + 4] >> 4 | scales[group] >> 6 << 4;
      const float step = scale * static_cast<float>(of_scale), least = minimum * static_cast<float>(of_minimum);
      decode_group(block + kLowAt + group / 2 * 32, high, group, step, least, values);
    }
  }

 private:
  // A function of its own: within the loop above, gcc -O3 makes it six times as slow.
  [[gnu::noinline]] static void decode_group(Bytes bits, Bytes high, int group, float step, float least,
                                             Floats values) {
    const int shift = group % 2 * 4;
    for (int i = 0; i < 32; ++i) {
      int value = bits[i] >> shift & 0xf;
      if constexpr (kHas5Bits) value |= (high[i] >> group & 1) << 4;
      values[i] = step * static_cast<float>(value) - least;
    }
  }
};

struct Q6K {
  static constexpr std::uint32_t kValues = 256, kBytes = 210;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block + 208);
    for (int group = 0; group < 16; ++group, values += 16) {
      const float step = scale * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
      const int in_half = group % 8 / 2;  // groups of 32
      const Bytes low = block + group / 8 * 64 + in_half % 2 * 32 + group % 2 * 16;
      const Bytes high = block + 128 + group / 8 * 32 + group % 2 * 16;
      const int of_low = in_half / 2 * 4, of_high = in_half * 2;
      for (int i = 0; i < 16; ++i) {
        const int value = (low[i] >> of_low & 0xf) | (high[i] >> of_high & 3) << 4;
        values[i] = step * static_cast<float>(value - 32);
      }
    }
  }
};

constexpr BlockFormat kBlockFormats[] = {
    format_of<Q4Or5<false, false>>("Q4_0"),
    format_of<Q4Or5<false, true>>("Q4_1"),
    format_of<Q4Or5<true, false>>("Q5_0"),
    format_of<Q4Or5<true, true>>("Q5_1"),
    format_of<Q8_0>("Q8_0"),
    format_of<Q2K>("Q2_K"),
    format_of<Q3K>("Q3_K"),
    format_of<Q4Or5K<false>>("Q4_K"),
    format_of<Q4Or5K<true>>("Q5_K"),
    format_of<Q6K>("Q6_K"),
};

}  // namespace
}  // namespace blocks

const BlockFormat* block_format(std::string_view name) {
  for (const std::span<const BlockFormat> formats :
       {std::span<const BlockFormat>(blocks::kBlockFormats), iq_formats()}) {
    const auto format = std::ranges::find(formats, name, &BlockFormat::name);
    if (format != formats.end()) return &*format;
  }
  return nullptr;
}

}  // namespace tensorstat
