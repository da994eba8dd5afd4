"""NumPy's passes over two tensors of one shape, each statistic as a NumPy user writes it.

    numpy_pair_passes.py FILE DTYPE

Reads the bytes of both from FILE, one after the other, and prints "ready". For every line on stdin it computes
everything once, and prints the seconds and the results: cosine, euclidean, rmse, relative l2, SNR, max abs diff and
its index, max rel diff, the count within a tolerance, the count of unequal elements.
"""
import sys
import time

import numpy as np


def passes(stored_a, stored_b, dtype):
    if dtype == "bfloat16":  # NumPy has no bfloat16: read its bits
        a, b = ((x.astype(np.uint32) << 16).view(np.float32) for x in (stored_a, stored_b))
    else:
        a, b = stored_a, stored_b
    # Sums of float32 products would lose digits.
    a, b = a.astype(np.float64), b.astype(np.float64)
    norm_b = np.linalg.norm(b)
    difference = a - b
    distance = np.linalg.norm(difference)
    size = np.abs(difference)
    index = np.argmax(size)
    return [np.dot(a, b) / (np.linalg.norm(a) * norm_b), distance, distance / np.sqrt(a.size), distance / norm_b,
            20 * np.log10(norm_b / distance), size[index], index, np.nanmax(size / np.abs(b)),
            np.count_nonzero(np.isclose(a, b, 1e-3, 1e-5)), np.count_nonzero(stored_a != stored_b)]


def main():
    path, dtype = sys.argv[1:]
    stored = np.fromfile(path, dtype=np.uint16 if dtype == "bfloat16" else dtype)
    a, b = stored[:stored.size // 2], stored[stored.size // 2:]
    with np.errstate(all="ignore"):
        passes(a, b, dtype)
        print("ready", flush=True)
        for _ in sys.stdin:
            start = time.perf_counter()
            figures = passes(a, b, dtype)
            seconds = time.perf_counter() - start
            print(repr(seconds), *(repr(float(each)) for each in figures), flush=True)


main()
