"""tensorstat.dask.measure gives the rows of one call of the command, from two processes of Dask's LocalCluster, also if a
worker is killed; tensorstat.read takes URLs of fsspec. Skipped without python3-distributed and python3-fsspec."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import tensorstat

COMMAND = os.environ.get("COMMAND", "tensorstat")

JOB = """
import logging, os, signal, sys, threading, tensorstat, tensorstat.dask
from dask.distributed import Client, LocalCluster
if __name__ == "__main__":
    command, folder = sys.argv[1:]
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        rows = tensorstat.dask.measure(folder, client, "max,l2norm,nan count", parts=19, command=command)
        expected, refused = tensorstat._native.read_rows(sys.argv[2] + ".csv")
        assert refused is None and len(rows) == len(expected) > 20, (len(rows), len(expected))
        strip = lambda rows: [{key: value for key, value in row.items() if key != "timestamp"} for row in rows]
        assert repr(strip(rows)) == repr(strip(expected))
        worker = next(iter(client.run(os.getpid).values()))
        threading.Timer(.1, os.kill, (worker, signal.SIGKILL)).start()
        again = tensorstat.dask.measure(folder, client, "max,l2norm,nan count", parts=19, command=command)
        assert repr(strip(again)) == repr(strip(expected))
        try:
            tensorstat.dask.measure(folder + "/nowhere", client, command=command)
            raise SystemExit("no error")
        except tensorstat.Error as failure:
            assert "nowhere" in str(failure), failure
    print("done")
"""


class Dask(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("distributed"), "python3-distributed is not installed")
    def test_two_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            tree, job = f"{folder}/tree", f"{folder}/job.py"
            os.mkdir(tree)
            rng = numpy.random.default_rng(4)
            for i in range(24):
                numpy.save(f"{tree}/x{i}.npy", rng.normal(size=700 * i))
            numpy.save(f"{tree}/large.npy", rng.normal(size=900_000).astype("f4"))
            subprocess.run([COMMAND, "-q", tree, "--stats", "max,l2norm,nan count", "--columns", "path,tensor", "-o",
                            f"{tree}.csv"], check=True)
            with open(job, "w") as file:
                file.write(JOB)
            ran = subprocess.run([sys.executable, job, COMMAND, tree], capture_output=True, text=True, timeout=300)
            self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)


@unittest.skipUnless(importlib.util.find_spec("fsspec"), "python3-fsspec is not installed")
class Urls(unittest.TestCase):
    def test_read(self):
        import fsspec
        x = numpy.arange(12.0, dtype="f4").reshape(3, 4)
        with tempfile.TemporaryDirectory() as folder:
            numpy.save(f"{folder}/x.npy", x)
            with open(f"{folder}/x.npy", "rb") as file:
                fsspec.filesystem("memory").pipe("/runs/x.npy", file.read())
            for url in (f"file://{folder}/x.npy", "memory://runs/x.npy"):
                self.assertEqual(tensorstat.read(url), tensorstat.measure(x), url)
            self.assertEqual(tensorstat.read(f"{folder}/x.npy"), tensorstat.measure(x))
            os.mkdir(f"{folder}/a:")
            os.rename(f"{folder}/x.npy", f"{folder}/a:/x.npy")
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual(tensorstat.read("a://x.npy"), tensorstat.measure(x))  # a file that is there
            finally:
                os.chdir(before)
        with self.assertRaisesRegex(tensorstat.Error, "memory://runs/nothing.npy"):
            tensorstat.read("memory://runs/nothing.npy")


if __name__ == "__main__":
    unittest.main()
