"""Dumps of the tests of the page, and their pages."""
import csv
import math
import os
import subprocess

COMMAND = os.environ["COMMAND"]
HEADING = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,L2Norm Value,"
           "NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")


def write_run(folder, value_of, names=("a.up", "a.down"), ranks=range(2), iterations=range(80), words=("Op", "float32")):
    """A dump: value_of(name, rank, iteration) is the l2norm of a tensor."""
    for rank in ranks:
        for iteration in iterations:
            place = os.path.join(folder, f"rank_{rank}", "net", "0", str(iteration))
            os.makedirs(place)
            with open(os.path.join(place, "statistic.csv"), "w", newline="") as file:
                rows = csv.writer(file, lineterminator="\n")
                rows.writerow(HEADING)
                for index, name in enumerate(names):
                    value = value_of(name, rank, iteration)
                    io = (1 if math.isnan(value) else 0, 1 if value == math.inf else 0)
                    rows.writerow([words[0], name, 0, 0, 1000 * iteration + index, "output", 0, 64, words[1], "(16)", value, -1.0, value / 4, value,
                                   io[0], io[1], 0, 0])


def calm(name, rank, iteration):
    return 1.0 + 0.01 * math.sin(iteration + len(name) + rank)


def planted(name, rank, iteration):
    return math.nan if name == "a.down" and rank == 1 and iteration >= 60 else calm(name, rank, iteration)


def write_page(folder, value_of, **run):
    write_run(os.path.join(folder, "dump"), value_of, **run)
    page = os.path.join(folder, "page.html")
    ran = subprocess.run([COMMAND, "report", os.path.join(folder, "dump"), "-o", page], capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    return page, ran.returncode
