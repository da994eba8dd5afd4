// Formats with code books, and formats of one to four bits with a table of values.
#include <bit>

#include "stats/data/files/gguf/block_decoding.hpp"
#include "stats/data/files/gguf/block_formats.hpp"
#include "stats/data/files/gguf/iq_grids.hpp"

namespace tensorstat {
namespace blocks {
namespace {

constexpr float kOfIq1[] = {-1, 0, 1};
constexpr float kOfIq2[] = {8, 25, 43};
constexpr float kOfIq3Xxs[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr float kOfIq3S[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr float kOfIq4[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr float kOfFloat4[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};  // twice the values

// Eight values of an entry with two bits each, or four with three bits. Bit i of `signs` is value i's.
void write_entry(std::uint32_t entry, const float* table, int bits, std::uint32_t signs, float scale, Floats values) {
  const int count = bits == 2 ? 8 : 4;
  for (int i = 0; i < count; ++i) {
    const float value = scale * table[entry >> bits * i & ((1u << bits) - 1)];
    values[i] = signs >> i & 1 ? -value : value;
  }
}

// Seven signs. The eighth makes their number even.
std::uint32_t eight_signs(std::uint32_t seven) {
  seven &= 0x7f;
  return seven | (static_cast<std::uint32_t>(std::popcount(seven)) & 1) << 7;
}

std::uint32_t nibble(Bytes bytes, int i) { return bytes[i / 2] >> i % 2 * 4 & 0xf; }

struct Iq2Xxs {
  static constexpr std::uint32_t kValues = 256, kBytes = 66;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    for (int group = 0; group < 8; ++group) {
      const Bytes entries = block + 2 + group * 8;
      const std::uint32_t signs = word32(entries + 4);
      const float step = scale * (0.5f + static_cast<float>(signs >> 28)) * 0.25f;
      for (int i = 0; i < 4; ++i, values += 8) {
        write_entry(kIq2XxsGrid[entries[i]], kOfIq2, 2, eight_signs(signs >> 7 * i), step, values);
      }
    }
  }
};

struct Iq2Xs {
  static constexpr std::uint32_t kValues = 256, kBytes = 74;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    for (int i = 0; i < 32; ++i, values += 8) {
      const std::uint32_t word = word16(block + 2 + 2 * i);  // nine bits of the entry, seven of signs
      const float step = scale * (0.5f + static_cast<float>(nibble(block + 66, i / 2))) * 0.25f;
      write_entry(kIq2XsGrid[word & 511], kOfIq2, 2, eight_signs(word >> 9), step, values);
    }
  }
};

struct Iq2S {
  static constexpr std::uint32_t kValues = 256, kBytes = 82;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    const Bytes low = block + 2, signs = block + 34, high = block + 66, scales = block + 74;
    for (int i = 0; i < 32; ++i, values += 8) {
      const std::uint32_t entry = low[i] | (high[i / 4] >> i % 4 * 2 & 3u) << 8;
      const float step = scale * (0.5f + static_cast<float>(nibble(scales, i / 2))) * 0.25f;
      write_entry(kIq2SGrid[entry], kOfIq2, 2, signs[i], step, values);
    }
  }
};

struct Iq3Xxs {
  static constexpr std::uint32_t kValues = 256, kBytes = 98;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    for (int group = 0; group < 8; ++group) {
      const Bytes entries = block + 2 + group * 8;
      const std::uint32_t signs = word32(block + 66 + group * 4);
      const float step = scale * (0.5f + static_cast<float>(signs >> 28)) * 0.5f;
      for (int i = 0; i < 8; ++i, values += 4) {
        const std::uint32_t eight = eight_signs(signs >> i / 2 * 7);
        write_entry(kIq3XxsGrid[entries[i]], kOfIq3Xxs, 3, eight >> i % 2 * 4, step, values);
      }
    }
  }
};

struct Iq3S {
  static constexpr std::uint32_t kValues = 256, kBytes = 110;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    const Bytes low = block + 2, high = block + 66, signs = block + 74, scales = block + 106;
    for (int i = 0; i < 64; ++i, values += 4) {
      const std::uint32_t entry = low[i] | (high[i / 8] >> i % 8 & 1u) << 8;
      const float step = scale * static_cast<float>(1 + 2 * nibble(scales, i / 8));
      write_entry(kIq3SGrid[entry], kOfIq3S, 3, std::uint32_t{signs[i / 2]} >> i % 2 * 4, step, values);
    }
  }
};

// `shift` is added to each value of the entry: 1/8 or -1/8.
void write_iq1(std::uint32_t entry, float step, bool is_down, Floats values) {
  const float shift = is_down ? -0.125f : 0.125f;
  for (int i = 0; i < 8; ++i) values[i] = step * (kOfIq1[kIq1Grid[entry] >> 2 * i & 3] + shift);
}

struct Iq1S {
  static constexpr std::uint32_t kValues = 256, kBytes = 50;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    for (int i = 0; i < 32; ++i, values += 8) {
      const std::uint32_t group = word16(block + 34 + i / 4 * 2);  // four times three bits, the scale, the shift
      const float step = scale * static_cast<float>(2 * (group >> 12 & 7) + 1);
      write_iq1(block[2 + i] | (group >> i % 4 * 3 & 7) << 8, step, (group & 0x8000) != 0, values);
    }
  }
};

struct Iq1M {
  static constexpr std::uint32_t kValues = 256, kBytes = 56;
  static void decode(Bytes block, Floats values) {
    const Bytes high = block + 32, scales = block + 48;
    std::uint32_t bits = 0;  // of the float16, four at the top of each word of scales
    for (int i = 0; i < 4; ++i) bits |= word16(scales + 2 * i) >> 12 << 4 * i;
    const float scale = half(bits);
    for (int i = 0; i < 32; ++i, values += 8) {
      const std::uint32_t of_scale = word16(scales + i / 8 * 2) >> i / 2 % 4 * 3 & 7, more = nibble(high, i);
      const float step = scale * static_cast<float>(2 * of_scale + 1);
      write_iq1(block[i] | (more & 7) << 8, step, (more & 8) != 0, values);
    }
  }
};

// `count` bytes: the low halves, then the high ones.
void write_halves(Bytes bytes, int count, const float* table, float step, Floats values) {
  for (int i = 0; i < count; ++i) {
    values[i] = step * table[bytes[i] & 0xf];
    values[count + i] = step * table[bytes[i] >> 4];
  }
}

struct Iq4Nl {
  static constexpr std::uint32_t kValues = 32, kBytes = 18;
  static void decode(Bytes block, Floats values) { write_halves(block + 2, 16, kOfIq4, half(block), values); }
};

struct Iq4Xs {
  static constexpr std::uint32_t kValues = 256, kBytes = 136;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block);
    const std::uint32_t high = word16(block + 2);
    for (int group = 0; group < 8; ++group, values += 32) {
      const std::uint32_t six = nibble(block + 4, group) | (high >> 2 * group & 3) << 4;
      write_halves(block + 8 + group * 16, 16, kOfIq4, scale * (static_cast<float>(six) - 32), values);
    }
  }
};

struct Mxfp4 {
  static constexpr std::uint32_t kValues = 32, kBytes = 17;
  static void decode(Bytes block, Floats values) {
    const std::uint32_t exponent = block[0];  // of half the scale: 2^(exponent - 128), which below 2 is subnormal
    const float step = std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
    write_halves(block + 1, 16, kOfFloat4, step, values);
  }
};

struct Nvfp4 {
  static constexpr std::uint32_t kValues = 64, kBytes = 36;
  static void decode(Bytes block, Floats values) {
    for (int group = 0; group < 4; ++group, values += 16) {
      write_halves(block + 4 + group * 8, 8, kOfFloat4, half_of_scale(block[group]), values);
    }
  }

 private:
  // float8_e4m3fn without its sign. ggml reads 0x7f as 0.
  static float half_of_scale(std::uint32_t bits) {
    const std::uint32_t exponent = bits >> 3 & 0xf, fraction = bits & 7;
    if (bits == 0x7f) return 0;
    if (exponent == 0) return static_cast<float>(fraction) * 0x1p-10f;
    return std::bit_cast<float>((exponent + 127 - 8) << 23 | fraction << 20);
  }
};

// Three values: -1, 0 and 1. Five of them are a number below 243, times 256/243, rounded up.
struct Tq1_0 {
  static constexpr std::uint32_t kValues = 256, kBytes = 54;
  static void decode(Bytes block, Floats values) {
    const float scale = half(block + 52);
    values = write(block, 32, 5, scale, values);
    values = write(block + 32, 16, 5, scale, values);
    write(block + 48, 4, 4, scale, values);
  }

 private:
  static float* write(Bytes bytes, int count, int digits, float scale, float* values) {
    for (std::uint32_t digit = 0, power = 1; digit < static_cast<std::uint32_t>(digits); ++digit, power *= 3) {
      for (int i = 0; i < count; ++i) {
        const std::uint32_t rest = bytes[i] * power & 0xff;
        *values++ = scale * (static_cast<float>(rest * 3 >> 8) - 1);
      }
    }
    return values;
  }
};

// kBits each, as numbers minus kMiddle: first the lowest bits of `kTogether` bytes, then the next ones.
template <int kBits, std::uint32_t kAllValues, int kTogether, bool kScaleIsLast>
struct FewBits {
  static constexpr std::uint32_t kValues = kAllValues, kBytes = kAllValues * kBits / 8 + 2;
  static void decode(Bytes block, Floats values) {
    const float scale = half(kScaleIsLast ? block + kBytes - 2 : block);
    const Bytes bytes = kScaleIsLast ? block : block + 2;
    for (std::uint32_t first = 0; first < kBytes - 2; first += kTogether) {
      for (int shift = 0; shift < 8; shift += kBits) {
        for (int i = 0; i < kTogether; ++i) {
          const int number = bytes[first + i] >> shift & ((1 << kBits) - 1);
          *values++ = scale * static_cast<float>(kBits == 1 ? 2 * number - 1 : number - 1);
        }
      }
    }
  }
};

struct Q8K {
  static constexpr std::uint32_t kValues = 256, kBytes = 292;  // the last 32 are sums
  static void decode(Bytes block, Floats values) {
    const auto scale = std::bit_cast<float>(word32(block));
    for (int i = 0; i < 256; ++i) values[i] = scale * static_cast<std::int8_t>(block[4 + i]);
  }
};

constexpr BlockFormat kIqFormats[] = {
    format_of<Iq1S>("IQ1_S"),
    format_of<Iq1M>("IQ1_M"),
    format_of<Iq2Xxs>("IQ2_XXS"),
    format_of<Iq2Xs>("IQ2_XS"),
    format_of<Iq2S>("IQ2_S"),
    format_of<Iq3Xxs>("IQ3_XXS"),
    format_of<Iq3S>("IQ3_S"),
    format_of<Iq4Nl>("IQ4_NL"),
    format_of<Iq4Xs>("IQ4_XS"),
    format_of<Mxfp4>("MXFP4"),
    format_of<Nvfp4>("NVFP4"),
    format_of<Tq1_0>("TQ1_0"),
    format_of<FewBits<2, 256, 32, true>>("TQ2_0"),
    format_of<FewBits<1, 128, 1, false>>("Q1_0"),
    format_of<FewBits<2, 64, 1, false>>("Q2_0"),
    format_of<Q8K>("Q8_K"),
};

}  // namespace
}  // namespace blocks

std::span<const BlockFormat> iq_formats() { return blocks::kIqFormats; }

}  // namespace tensorstat
