#!/usr/bin/python3
"""Compares the command's time for files in the page cache with the time to read them: bench/files.py COMMAND [RUNS]

Whole processes run in turns. Each line has the median of the times, and the median of the ratios within one turn.
"""
import concurrent.futures
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy

COMMAND = os.path.abspath(sys.argv[1])
RUNS = int(sys.argv[2]) if len(sys.argv) > 2 else 9
TENSORS = 10_000


def ran(*arguments):
    """Seconds of a process that writes to a pipe, as when a program reads its output."""
    begun = time.perf_counter()
    if subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).returncode > 1:
        raise RuntimeError(arguments)
    return time.perf_counter() - begun


def measured(*paths):
    return lambda: ran(COMMAND, *paths, "--on", "host", "--format", "csv")


def read_in_parallel(path, block_bytes):
    """Seconds to pread a file with one thread per core."""
    def read_every(first):
        block = memoryview(bytearray(block_bytes))
        for offset in range(first * block_bytes, size, threads * block_bytes):
            os.preadv(descriptor, [block], offset)

    threads, size = os.cpu_count(), os.path.getsize(path)
    descriptor = os.open(path, os.O_RDONLY)
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: None, range(threads)))
        begun = time.perf_counter()
        list(pool.map(read_every, range(threads)))
        took = time.perf_counter() - begun
    os.close(descriptor)
    return took


def compare(what, ours, beside):
    pairs = [(ours(), beside()) for _ in range(RUNS + 1)][1:]
    took, limit = (statistics.median(times) for times in zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{what:58} {took * 1e3:8.1f} ms {limit * 1e3:8.1f} ms {ratio:6.2f}")


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, array in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            array.tofile(file)


def write_gguf(path, name, number, shape, blocks):
    head = b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, len(name)) + name.encode()
    head += struct.pack("<I2QIQ", 2, *reversed(shape), number, 0)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % 32))
        blocks.tofile(file)


def write_rows(path, rows):
    with open(path, "w") as file:
        file.write("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,"
                   "Max Value,Min Value,Avg Value,L2Norm Value\n")
        for i, values in enumerate(rows):
            file.write(f'MatMul,Default/network/layer{i // 10}-Dense/MatMul-op{i},0,0,{10**15 + i},output,{i % 3},4096,'
                       f'float32,"(32,32)",{",".join(map(repr, values))}\n')


def main():
    os.chdir(folder)
    random = numpy.random.default_rng(1)
    print(f"{'':58} {'command':>11} {'beside it':>11} {'ratio':>6}")

    numpy.save("large.npy", random.standard_normal(1 << 28, dtype="f4"))
    for kib in (1024, 120):
        compare(f"1 GiB of float32; pread of {kib} KiB by a thread a core", measured("large.npy"),
                lambda: read_in_parallel("large.npy", kib << 10))
    os.remove("large.npy")

    for kib in (4, 64):
        values = random.standard_normal((TENSORS, kib << 8), dtype="f4")
        tensors = {f"layer.{i}.weight": row for i, row in enumerate(values)}
        numpy.save("one.npy", values)
        numpy.savez("many.npz", **tensors)
        write_safetensors("many.safetensors", tensors)
        for name in ("many.npz", "many.safetensors"):
            compare(f"{name} of {TENSORS:,} x {kib} KiB; as one .npy", measured(name), measured("one.npy"))

    os.mkdir("tree")
    for i, row in enumerate(random.standard_normal((TENSORS, 1024), dtype="f4")):
        numpy.save(f"tree/layer.{i}.npy", row)
    files = [entry.path for entry in os.scandir("tree")]
    compare(f"{TENSORS:,} files of 4 KiB; cat of all", measured("tree"), lambda: ran("cat", *files))

    shutil.copytree("tree", "other")
    for i in range(0, TENSORS, 500):
        numpy.save(f"other/layer.{i}.npy", random.standard_normal(1024, dtype="f4"))
    compare(f"diff of two trees of {TENSORS:,}; measuring both", lambda: ran(COMMAND, "diff", "tree", "other"),
            measured("tree", "other"))
    rows = random.standard_normal((1_000_000, 4)).tolist()
    write_rows("a.csv", rows)
    for i in range(7, len(rows), 1000):
        rows[i][2] += 1e-3
    write_rows("b.csv", rows)
    compare("diff of two files of 1,000,000 rows; cat of both", lambda: ran(COMMAND, "diff", "a.csv", "b.csv"),
            lambda: ran("cat", "a.csv", "b.csv"))

    for name, number, block, size, scales in ("Q4_0", 2, 32, 18, (0,)), ("Q4_K", 12, 256, 144, (0, 2)):
        blocks = random.integers(0, 256, ((1 << 28) // block, size), dtype="u1")
        for offset in scales:
            blocks[:, offset:offset + 2] = numpy.frombuffer(numpy.float16(0.01).tobytes(), "u1")
        write_gguf("quantized.gguf", name, number, (1 << 14, 1 << 14), blocks)
        compare(f"2^28 values of {name}, {blocks.nbytes >> 20} MiB; pread of 120 KiB by a thread a core",
                measured("quantized.gguf"), lambda: read_in_parallel("quantized.gguf", 120 << 10))

    numpy.save("small.npy", numpy.arange(10))
    compare("a file of 80 bytes; true", measured("small.npy"), lambda: ran("true"))


with tempfile.TemporaryDirectory() as folder:
    main()
