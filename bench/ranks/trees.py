#!/usr/bin/env python3
"""What a tree in parts costs: `fold` beside one call of the command on the same files, and the merge of 10,000 states.

    bench/ranks/trees.py [COMMAND] [--rounds 7]

Files are in the page cache. The times are those of whole processes; fold and command take turns."""
import argparse
import os
import statistics
import struct
import subprocess
import tempfile
import time
import zlib

import numpy


def seconds(*arguments):
    begin = time.perf_counter()
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def compare(command, what, write, rounds):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("tree")
        write()
        subprocess.run([command, "plan", "-q", "tree", "--parts", "1", "-o", "plan"], check=True)
        ratios, whole_times = [], []
        for _ in range(rounds):
            whole = seconds(command, "-q", "tree", "--format", "csv")
            if os.path.exists("state.tsp"):
                os.remove("state.tsp")
            ratios.append(whole / seconds(command, "fold", "-q", "@plan/000", "-o", "state.tsp"))
            whole_times.append(whole)
        size = sum(os.path.getsize(f"tree/{name}") for name in os.listdir("tree"))
        print(f"{what}: {size / 1e6:.0f} MB, command {statistics.median(whole_times):.3f} s; speed of fold beside it "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


def framed(content):
    return struct.pack("<II", len(content), zlib.crc32(content)) + content


def merge_many(command, states, rounds):
    """Makes `states` states of one, by its head: each has other parts and files."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("tree")
        for i in range(4):
            numpy.save(f"tree/layer{i}.npy", numpy.arange(100.0) + i)
        subprocess.run([command, "plan", "-q", "tree", "--parts", "1", "-o", "plan"], check=True)
        subprocess.run([command, "fold", "-q", "@plan/000", "-o", "one.tsp"], check=True)
        with open("one.tsp", "rb") as file:
            one = file.read()
        frames, offset = [], 8
        while offset < len(one):
            (length,) = struct.unpack_from("<I", one, offset)
            frames.append(one[offset + 8:offset + 8 + length])
            offset += 8 + length
        os.mkdir("states")
        for part in range(states):
            head = frames[0][:8] + struct.pack("<I", states) + frames[0][12:32] + struct.pack("<I", part) + frames[0][36:]
            records = [record[:1] + struct.pack("<Q", part) + record[9:] for record in frames[1:]]
            with open(f"states/{part:05}.tsp", "wb") as file:
                file.write(one[:8] + b"".join(framed(each) for each in [head, *records]))
        times = [seconds(command, "merge", "-q", "states", "-o", "rows.csv") for _ in range(rounds)]
        with open("rows.csv", "rb") as file:
            rows = file.read().count(b"\n") - 1
        print(f"merge of {states} states, {rows} rows: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("command", nargs="?", default="tensorstat")
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    command = os.path.abspath(options.command) if "/" in options.command else options.command
    rng = numpy.random.default_rng(1)
    large = rng.normal(size=8_000_000).astype("f4")
    compare(command, "16 files of 32 MB", lambda: [numpy.save(f"tree/{i}.npy", large) for i in range(16)], options.rounds)
    compare(command, "a container of 4,000 tensors", lambda: numpy.savez("tree/x.npz", **{f"w{i}": large[:8000] for i in range(4000)}),
            options.rounds)
    compare(command, "4,000 files of 4 KB", lambda: [numpy.save(f"tree/{i}.npy", large[:1000]) for i in range(4000)],
            options.rounds)
    merge_many(command, 10_000, options.rounds)


if __name__ == "__main__":
    main()
