"""Makes small tensors and their statistics with Python's fractions. tests/support/oracle.cpp is tested against them.

One line per tensor: dtype, its bytes in hexadecimal, then max, min, avg, l2norm, and avg and l2norm as binary32, each
as the bits of a binary64 ("-" for none), then the counts of NaN, zeros and negatives.
"""

import random
import struct
from fractions import Fraction
from math import inf, isqrt, nan

FLOATS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}
INTEGERS = {"bool": "B", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
            "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"}


def decoded(bits, exponent_bits, fraction_bits):
    """A Fraction, an infinity, a NaN, or the text "-0"."""
    sign = -1 if bits >> (exponent_bits + fraction_bits) else 1
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    if exponent == (1 << exponent_bits) - 1:
        return nan if fraction else sign * inf
    if exponent == 0 and fraction == 0 and sign < 0:
        return "-0"
    implied = 0 if exponent == 0 else 1
    significand = implied + Fraction(fraction, 1 << fraction_bits)
    return sign * significand * Fraction(2) ** (max(exponent, 1) - bias)


def nearest(numerator, denominator, root, exponent_bits, fraction_bits):
    """The nearest value of a format to numerator/denominator, or to its square root, as a float."""
    if numerator == 0:
        return 0.0
    value = Fraction(numerator, denominator)
    bias = (1 << exponent_bits - 1) - 1
    at_least = (lambda x: x * x <= value) if root else (lambda x: x <= value)
    # Bisection over the bits: finds the largest representable magnitude that is not above the value.
    low, high = 0, (2 * bias + 1) << fraction_bits  # the bits of infinity
    magnitude = lambda bits: decoded(bits, exponent_bits, fraction_bits) if bits < high_bits \
        else Fraction(2) ** (bias + 1)
    high_bits = high
    while high - low > 1:
        middle = (low + high) // 2
        if at_least(magnitude(middle)):
            low = middle
        else:
            high = middle
    if at_least(magnitude(high)):
        return inf
    half = (magnitude(low) + magnitude(high)) / 2
    exactly_half = half * half == value if root else half == value
    above = at_least(half) and not exactly_half
    bits = high if above or (exactly_half and low % 2) else low
    return inf if bits == high_bits else float(magnitude(bits))


def rounded_mean(total, count, form):
    mean = nearest(abs(total), count, False, *form)
    return -mean if total < 0 else mean


def shown(value):
    return "-" if value is None else "nan" if value != value else struct.pack(">d", value).hex()


def line(dtype, raw):
    if dtype in FLOATS:
        size = sum(FLOATS[dtype], 1) // 8
        values = [decoded(int.from_bytes(raw[i:i + size], "little"), *FLOATS[dtype])
                  for i in range(0, len(raw), size)]
    else:
        values = [x[0] for x in struct.iter_unpack("<" + INTEGERS[dtype], raw)]
        if dtype == "bool":
            values = [int(x != 0) for x in values]
    order = [(0, 0) if v == "-0" else (v, 1) for v in values]
    numbers = [0 if v == "-0" else v for v in values]
    nans = sum(v != v for v in numbers)
    infinities = [v for v in numbers if v in (inf, -inf)]
    cells = [None, None, None, 0.0, None, 0.0]
    if values:
        if nans:
            cells = [nan] * 6
        else:
            ends = max(order), min(order)
            cells[:2] = [-0.0 if end == (0, 0) else float(end[0]) for end in ends]
            if infinities:
                total = sum(infinities)  # NaN if both signs occur
                cells[2] = cells[4] = total
                cells[3] = cells[5] = inf
            else:
                total, squares = sum(numbers), sum(v * v for v in numbers)
                for cell, form in ((2, FLOATS["float64"]), (4, FLOATS["float32"])):
                    cells[cell] = rounded_mean(total, len(numbers), form)
                    cells[cell + 1] = nearest(Fraction(squares), 1, True, *form)
    counts = nans, sum(v == 0 for v in numbers), sum(v < 0 for v in numbers)
    return " ".join([dtype, raw.hex() or "-", *map(shown, cells), *map(str, counts)])


def elements(dtype, count, kind):
    size = struct.calcsize(INTEGERS[dtype]) if dtype in INTEGERS else sum(FLOATS[dtype], 1) // 8
    if kind == "bits" or dtype in INTEGERS:
        return random.randbytes(size * count)
    exponent_bits, fraction_bits = FLOATS[dtype]
    top = (1 << exponent_bits) - 1
    ranges = {"finite": (0, top - 1), "tiny": (0, 1), "huge": (top - 2, top - 1), "zero": (0, 0),
              "ordinary": (top // 2 - 2, top // 2 + 2)}
    low, high = ranges[kind]
    made = b""
    for _ in range(count):
        bits = random.getrandbits(1) << exponent_bits + fraction_bits
        bits |= random.randint(low, high) << fraction_bits
        if kind != "zero":
            bits |= random.getrandbits(fraction_bits)
        made += bits.to_bytes(size, "little")
    return made


random.seed(20261120)
for name in (*INTEGERS, *FLOATS):
    for count in (0, 1, 2, 3, 7, 16):
        for kind in ("bits", "finite", "tiny", "huge", "ordinary", "zero"):
            print(line(name, elements(name, count, kind)))
