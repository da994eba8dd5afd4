"""The values of ggml's blocks by a second definition, bit by bit after https://github.com/ggml-org/ggml (src/ggml-common.h,
src/ggml-quants.c). Each function takes rows of bytes, one a block."""
import os
import re

import numpy

def half(blocks, offset):
    return blocks[:, offset:offset + 2].copy().view("<f2").astype(numpy.float32)


def bits(blocks, position, width):
    """The number of `width` bits at each bit of `position`, bit 0 being the lowest of a block's first byte."""
    of_byte = numpy.unpackbits(blocks, axis=1, bitorder="little").astype(numpy.int32)
    position = numpy.asarray(position)
    return sum(of_byte[:, position + i] << i for i in range(width))


def thirty_two(high_at, low_at, middle, has_offset):
    def values(blocks):
        scale = half(blocks, 0)
        i = numpy.arange(32)
        number = bits(blocks, (low_at + i % 16) * 8 + i // 16 * 4, 4)
        if high_at:
            number += bits(blocks, high_at * 8 + i, 1) * 16
        product = scale * (number - middle).astype(numpy.float32)
        return product + half(blocks, 2) if has_offset else product
    return values


def q8_0(blocks):
    return half(blocks, 0) * blocks[:, 2:].view(numpy.int8).astype(numpy.float32)


# A block of 256 is two halves, each four rows of 32. Rows share bytes.
I = numpy.arange(256)
HALF, ROW, COLUMN = I // 128, I % 128 // 32, I % 32


def q2_k(blocks):
    number = bits(blocks, (16 + HALF * 32 + COLUMN) * 8 + ROW * 2, 2).astype(numpy.float32)
    scale = half(blocks, 80) * bits(blocks, I // 16 * 8, 4).astype(numpy.float32)
    return scale * number - half(blocks, 82) * bits(blocks, I // 16 * 8 + 4, 4).astype(numpy.float32)


def q3_k(blocks):
    number = bits(blocks, (32 + HALF * 32 + COLUMN) * 8 + ROW * 2, 2) + 4 * bits(blocks, COLUMN * 8 + HALF * 4 + ROW, 1) - 4
    k = I // 16
    scale = bits(blocks, (96 + k % 8) * 8 + k // 8 * 4, 4) + 16 * bits(blocks, (104 + k % 4) * 8 + k // 4 * 2, 2) - 32
    return half(blocks, 108) * scale.astype(numpy.float32) * number.astype(numpy.float32)


def six_bits(blocks, k, is_minimum):
    """Byte 4 on: AAAAAA with EE above for scale A and the top of E, the same for minimums, then the low halves of E."""
    low = bits(blocks, (4 + 4 * is_minimum + k % 4) * 8, 6)
    late = bits(blocks, (12 + k % 4) * 8 + 4 * is_minimum, 4) + 16 * bits(blocks, (4 + 4 * is_minimum + k % 4) * 8 + 6, 2)
    return numpy.where(k < 4, low, late).astype(numpy.float32)


def q4_or_5_k(low_at):
    def values(blocks):
        k = I // 32
        number = bits(blocks, (low_at + k // 2 * 32 + COLUMN) * 8 + k % 2 * 4, 4)
        if low_at == 48:
            number += 16 * bits(blocks, (16 + COLUMN) * 8 + k, 1)
        scale, minimum = half(blocks, 0) * six_bits(blocks, k, 0), half(blocks, 2) * six_bits(blocks, k, 1)
        return scale * number.astype(numpy.float32) - minimum
    return values


def q6_k(blocks):
    number = bits(blocks, (HALF * 64 + ROW % 2 * 32 + COLUMN) * 8 + ROW // 2 * 4, 4)
    number += 16 * bits(blocks, (128 + HALF * 32 + COLUMN) * 8 + ROW * 2, 2) - 32
    scales = blocks[:, 192:208].view(numpy.int8)[:, I // 16].astype(numpy.float32)
    return half(blocks, 208) * scales * number.astype(numpy.float32)


def grid(name):
    """A code book of the library, which is judged by test_the_code_books_are_ggml_s."""
    with open(os.path.join(os.path.dirname(__file__), "../../stats/data/files/gguf/iq_grids.hpp"), encoding="ascii") as file:
        return numpy.array([int(each) for each in re.search(name + r"\[\d+\] = {(.*?)}", file.read(), re.S)[1].split(",")])


def signs(eight):
    return 1 - 2 * (eight >> I % 8 & 1).astype(numpy.float32)


def even(seven):
    """Seven signs and one that makes their number even."""
    return seven | sum(seven >> i & 1 for i in range(7)) % 2 << 7


GROUP, ENTRY = I // 32, I // 8
OF_IQ2, OF_IQ4 = numpy.array([8, 25, 43], "f4"), numpy.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], "f4")
OF_FLOAT4 = numpy.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], "f4") + numpy.float32(0)


def of_iq2(number, scale, sign, book):
    return (scale + numpy.float32(.5)) * numpy.float32(.25) * OF_IQ2[grid(book)[number] >> I % 8 * 2 & 3] * sign


def iq2_xxs(blocks):
    bit = (2 + GROUP * 8) * 8
    return half(blocks, 0) * of_iq2(bits(blocks, bit + I % 32 // 8 * 8, 8), bits(blocks, bit + 60, 4),
                                    signs(even(bits(blocks, bit + 32 + I % 32 // 8 * 7, 7))), "kIq2XxsGrid")


def iq2_xs(blocks):
    bit = (2 + ENTRY * 2) * 8
    return half(blocks, 0) * of_iq2(bits(blocks, bit, 9), bits(blocks, 66 * 8 + I // 16 * 4, 4), signs(even(bits(blocks, bit + 9, 7))), "kIq2XsGrid")


def iq2_s(blocks):
    number = bits(blocks, (2 + ENTRY) * 8, 8) | bits(blocks, 66 * 8 + ENTRY * 2, 2) << 8
    return half(blocks, 0) * of_iq2(number, bits(blocks, 74 * 8 + I // 16 * 4, 4), signs(bits(blocks, (34 + ENTRY) * 8, 8)), "kIq2SGrid")


def iq3_xxs(blocks):
    code, words = grid("kIq3XxsGrid")[bits(blocks, (2 + I // 4) * 8, 8)] >> I % 4 * 3 & 7, (66 + GROUP * 4) * 8
    values = numpy.array([4, 12, 20, 28, 36, 44, 52, 62], "f4")[code] * signs(even(bits(blocks, words + I % 32 // 8 * 7, 7)))
    return half(blocks, 0) * (bits(blocks, words + 28, 4) + numpy.float32(.5)).astype("f4") * numpy.float32(.5) * values


def iq3_s(blocks):
    code = grid("kIq3SGrid")[bits(blocks, (2 + I // 4) * 8, 8) | bits(blocks, 66 * 8 + I // 4, 1) << 8] >> I % 4 * 3 & 7
    return half(blocks, 0) * ((1 + 2 * bits(blocks, 106 * 8 + GROUP * 4, 4)) * (1 + 2 * code) * signs(bits(blocks, (74 + ENTRY) * 8, 8))).astype("f4")


def iq1(number, step, is_down):
    return step * ((grid("kIq1Grid")[number] >> I % 8 * 2 & 3) - 1 + numpy.where(is_down, -.125, .125)).astype("f4")


def iq1_s(blocks):
    word = (34 + GROUP * 2) * 8
    number = bits(blocks, (2 + ENTRY) * 8, 8) | bits(blocks, word + I % 32 // 8 * 3, 3) << 8
    return iq1(number, half(blocks, 0) * (1 + 2 * bits(blocks, word + 12, 3)).astype("f4"), bits(blocks, word + 15, 1) == 1)


def iq1_m(blocks):
    scale = sum(bits(blocks, (48 + 2 * i) * 8 + numpy.array([12]), 4) << 4 * i for i in range(4)).astype("u2").view("f2").astype("f4")
    steps = (1 + 2 * bits(blocks, (48 + I // 64 * 2) * 8 + I // 16 % 4 * 3, 3)).astype("f4")
    return iq1(bits(blocks, ENTRY * 8, 8) | bits(blocks, 32 * 8 + ENTRY * 4, 3) << 8, scale * steps, bits(blocks, 32 * 8 + ENTRY * 4 + 3, 1) == 1)


def halves_of(blocks, first, each):
    """`each` bytes: the low halves, then the high ones."""
    i = numpy.arange((blocks.shape[1] - first) * 2)
    return bits(blocks, (first + i // (2 * each) * each + i % each) * 8 + i // each % 2 * 4, 4)


def iq4_nl(blocks):
    return half(blocks, 0) * OF_IQ4[halves_of(blocks, 2, 16)]


def iq4_xs(blocks):
    scale = (bits(blocks, 32 + GROUP * 4, 4) | bits(blocks, 16 + GROUP * 2, 2) << 4) - 32
    return half(blocks, 0) * scale.astype("f4") * OF_IQ4[halves_of(blocks, 8, 16)]


def mxfp4(blocks):
    with numpy.errstate(over="ignore"):
        scale = numpy.ldexp(numpy.float64(1), blocks[:, :1].astype(int) - 127)  # of a block that ggml reads: 255 is 2^128 there
        return (scale * OF_FLOAT4[halves_of(blocks, 1, 16)]).astype("f4")


def nvfp4(blocks):
    code = numpy.repeat(blocks[:, :4].astype(int), 16, axis=1)
    exponent, fraction = code >> 3 & 15, code & 7
    scale = numpy.where(exponent == 0, fraction * 2. ** -9, (1 + fraction / 8) * 2. ** (exponent - 7))
    return (numpy.where(code == 127, 0, scale) * OF_FLOAT4[halves_of(blocks, 4, 8)]).astype("f4")


def tq1_0(blocks):
    """Digits of base 3, from the top of a byte that is taken for a fraction of 256."""
    parts = [(blocks[:, first:end].astype(int)[:, None] * 3 ** numpy.arange(digits)[:, None] % 256 * 3 // 256).reshape(len(blocks), -1)
             for first, end, digits in ((0, 32, 5), (32, 48, 5), (48, 52, 4))]
    return half(blocks, 52) * (numpy.concatenate(parts, axis=1) - 1).astype("f4")


def tq2_0(blocks):
    return half(blocks, 64) * (bits(blocks, (HALF * 32 + COLUMN) * 8 + ROW * 2, 2) - 1).astype("f4")


def q1_0(blocks):
    return half(blocks, 0) * (2 * bits(blocks, 16 + numpy.arange(128), 1) - 1).astype("f4")


def q2_0(blocks):
    return half(blocks, 0) * (bits(blocks, 16 + 2 * numpy.arange(64), 2) - 1).astype("f4")


def q8_k(blocks):
    return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].view(numpy.int8)


# MD5 of gguf-py's code books (gguf/quants.py), as numbers of 16 bits, little-endian.
BOOKS = {"kIq1Grid": "acf3e3dc18cbde7509d218a42df99617", "kIq2XxsGrid": "933b1737c7617ec2a1c4ab28f819a8ee",
         "kIq2XsGrid": "49c6b970d44e98faf7dc199209620ed6", "kIq2SGrid": "7715b88f8348392a9ddd643b995868ba",
         "kIq3XxsGrid": "7d05d2a6bc8d7f938cbbaf2a79f396b4", "kIq3SGrid": "4a0c346f73192660c36aa69fd97306e1"}

# The number of the type, values and bytes of a block, where its float16 are, and the values.
BLOCKS = {"Q4_0": (2, 32, 18, (0,), thirty_two(0, 2, 8, False)), "Q4_1": (3, 32, 20, (0, 2), thirty_two(0, 4, 0, True)),
          "Q5_0": (6, 32, 22, (0,), thirty_two(2, 6, 16, False)), "Q5_1": (7, 32, 24, (0, 2), thirty_two(4, 8, 0, True)),
          "Q8_0": (8, 32, 34, (0,), q8_0), "Q2_K": (10, 256, 84, (80, 82), q2_k), "Q3_K": (11, 256, 110, (108,), q3_k),
          "Q4_K": (12, 256, 144, (0, 2), q4_or_5_k(16)), "Q5_K": (13, 256, 176, (0, 2), q4_or_5_k(48)),
          "Q6_K": (14, 256, 210, (208,), q6_k), "Q8_K": (15, 256, 292, (), q8_k), "IQ2_XXS": (16, 256, 66, (0,), iq2_xxs),
          "IQ2_XS": (17, 256, 74, (0,), iq2_xs), "IQ3_XXS": (18, 256, 98, (0,), iq3_xxs), "IQ1_S": (19, 256, 50, (0,), iq1_s),
          "IQ4_NL": (20, 32, 18, (0,), iq4_nl), "IQ3_S": (21, 256, 110, (0,), iq3_s), "IQ2_S": (22, 256, 82, (0,), iq2_s),
          "IQ4_XS": (23, 256, 136, (0,), iq4_xs), "IQ1_M": (29, 256, 56, (), iq1_m), "TQ1_0": (34, 256, 54, (52,), tq1_0),
          "TQ2_0": (35, 256, 66, (64,), tq2_0), "MXFP4": (39, 32, 17, (), mxfp4), "NVFP4": (40, 64, 36, (), nvfp4),
          "Q1_0": (41, 128, 18, (0,), q1_0), "Q2_0": (42, 64, 18, (0,), q2_0)}
