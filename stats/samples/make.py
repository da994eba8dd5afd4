#!/usr/bin/env python3
"""Makes the sample tensors: one step of a small network, dumped under MindSpore's names."""
import pathlib
import numpy as np

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(2024)


def dump(op, io, slot, dtype, array, op_name=None):
    name = op_name or f"Default_network_{op}-op0"
    np.save(here / f"{op}.{name}.0.0.17339054468{dump.clock:05d}.{io}.{slot}.DefaultFormat.{dtype}.npy", array)
    dump.clock += 137


dump.clock = 19790


def as_bfloat16(array):
    """The values as MindSpore stores bfloat16: as float32."""
    return (array.astype("<f4").view("<u4") & 0xFFFF0000).view("<f4")


image = rng.normal(0, 1, (2, 3, 16, 16))
weight = rng.normal(0, 0.05, (8, 3, 3, 3))
hidden = np.maximum(rng.normal(0, 2, (2, 8, 14, 14)), 0)
logits = rng.normal(0, 4, (2, 10)).astype("<f4")
logits[0, 3], logits[1, 7], logits[1, 8] = np.nan, np.inf, -np.inf

dump("Conv2D", "input", 0, "float16", image.astype("<f2"))
dump("Conv2D", "input", 1, "bfloat16", as_bfloat16(weight))
dump("Conv2D", "output", 0, "float16", hidden.astype("<f2"))
dump("ReLU", "output", 1, "bool", hidden > 0)
dump("MatMul", "input", 1, "int4", rng.integers(-8, 8, (10, 32), dtype="i1"))
dump("MatMul", "output", 0, "float32", logits)
dump("ArgMax", "output", 0, "int32", np.argmax(np.nan_to_num(logits), 1).astype("<i4"))
np.save(here / "learning_rate.npy", np.float64(0.001))
