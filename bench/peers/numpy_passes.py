"""NumPy's passes over one tensor, each statistic as a NumPy user writes it.

    numpy_passes.py FILE DTYPE

Reads the tensor's bytes from FILE into NumPy's own memory and prints "ready". For every line on stdin it computes
everything once, and prints the seconds and the results: max min avg l2norm negatives positives zeros nans infinities.
"""
import sys
import time

import numpy as np


def load(path, dtype):
    if dtype == "bfloat16":  # NumPy has no bfloat16: keep its bits
        return np.fromfile(path, dtype=np.uint16)
    return np.fromfile(path, dtype=dtype)


def passes(stored, dtype):
    if dtype == "bfloat16":
        x = (stored.astype(np.uint32) << 16).view(np.float32)
    else:
        x = stored
    counts = [np.count_nonzero(x < 0), np.count_nonzero(x > 0), np.count_nonzero(x == 0)]
    if np.issubdtype(x.dtype, np.floating):
        counts += [np.count_nonzero(np.isnan(x)), np.count_nonzero(np.isposinf(x)) + np.count_nonzero(np.isneginf(x))]
    else:
        counts += [0, 0]  # integers are never NaN or Inf, so nobody counts these
    # norm() computes in the type of its argument: a half or a byte would overflow at once.
    wide = x if x.dtype.itemsize > 2 else x.astype(np.float32)
    return [np.max(x), np.min(x), np.mean(x, dtype=np.float64), np.linalg.norm(wide)] + counts


def main():
    path, dtype = sys.argv[1:]
    stored = load(path, dtype)
    with np.errstate(all="ignore"):
        passes(stored, dtype)
        print("ready", flush=True)
        for _ in sys.stdin:
            start = time.perf_counter()
            figures = passes(stored, dtype)
            seconds = time.perf_counter() - start
            print(repr(seconds), *(repr(float(each)) for each in figures), flush=True)


main()
