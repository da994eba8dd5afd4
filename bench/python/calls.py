"""Compares a call of measure() in Python with the same call in C++, in one process, in turns.

    calls.py LIBRARY [--quick]
"""
import ctypes
import sys
import time

import numpy
import tensorstat
from rounds import rounds_of, show, spread

CASES = [(1, 16), (1, 1024), (1000, 16), (1000, 1024), (1000, 16384)]


def main(path, rounds):
    beside = ctypes.CDLL(path).seconds_of_measure
    beside.restype = ctypes.c_double
    beside.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
    meter, names = tensorstat.Meter(), tensorstat.DEFAULT_STATISTICS
    rows = []
    for count, elements in CASES:
        arrays = {f"layer.{i}": numpy.random.default_rng(i).standard_normal(elements, numpy.float32) for i in range(count)}
        addresses = (ctypes.c_void_p * count)(*(each.ctypes.data for each in arrays.values()))
        x = arrays if count > 1 else arrays["layer.0"]
        calls = max(1, 500 // count)

        def clocked(work):
            wall, processor = time.perf_counter(), time.process_time()
            work()
            return (time.perf_counter() - wall) / calls * 1e6, (time.process_time() - processor) / calls * 1e6

        def python():
            for _ in range(calls):
                meter.measure(x, names)

        times = rounds_of({"c++": lambda: clocked(lambda: beside(addresses, count, elements, names.encode(), calls)),
                           "python": lambda: clocked(python)}, rounds)
        what = f"a dict of {count:,} x {elements:,}" if count > 1 else f"one of {elements:,}"
        for clock, word in enumerate(("wall", "processor")):
            pairs = [(c[clock], p[clock]) for c, p in zip(times["c++"], times["python"])]
            rows.append([what if clock == 0 else "", word, spread([c for c, _ in pairs], "{:.1f}"),
                         spread([p for _, p in pairs], "{:.1f}"), spread([(p - c) / count for c, p in pairs]),
                         spread([p / c for c, p in pairs])])
    show("measure() of float32 arrays, µs a call: median (quartiles) of rounds in turns",
         ["tensors", "clock", "C++", "Python", "more, a tensor", "times"], rows)


main(sys.argv[1], 200 if "--quick" in sys.argv else 1000)
