"""all_reduce gives each rank the bytes of the whole tensor's partial: over mpi4py, torch.distributed (gloo) and two
functions that reduce, on 1 to 7 ranks, also with empty ones, in two collectives a step. An error on one rank is an error
on all, and nobody waits."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import tensorstat

import gloo_ranks

STATS = "max,min,avg,l2norm,nan_count,argmax,crc32,p50"

# The program of each rank, with `group`, `rank` and `ranks`; it ends with 0 if all is well.
RANK = """
import numpy, tensorstat
rng = numpy.random.default_rng(8)  # the same on every rank
tensors = {name: (rng.normal(size=5000) * 9).astype(dtype) for name, dtype in
           (("a", "f4"), ("b", "f2"), ("c", "i2"), ("d", "f8"), ("e", "u1"))}
def parts():
    made = {}
    for name, x in tensors.items():
        cuts = sorted([0, len(x), *numpy.random.default_rng(len(made)).integers(0, len(x), ranks - 1)])
        if ranks > 2:
            cuts[1] = cuts[2]  # a rank without elements
        part = tensorstat.fold(x[cuts[rank]:cuts[rank + 1]], STATS)
        made[name] = part.move_to(cuts[rank])
    return made
whole = tensorstat.all_reduce(parts, group)
for name, x in tensors.items():
    assert whole[name].serialize() == tensorstat.fold(x, STATS).serialize(), name
kept = group if isinstance(group, tensorstat.Ranks) else tensorstat.Ranks(group)
rounds = []
for name in ("_max", "_sum"):
    def counted(words, reduce=getattr(kept, name), name=name):
        rounds.append(name)
        reduce(words)
    setattr(kept, name, counted)
sums = lambda: {name: tensorstat.fold(x, "max,avg") for name, x in tensors.items()}
for step in range(3):
    rounds.clear()
    assert kept.all_reduce(sums)["a"].finish().avg == tensorstat.measure(tensors["a"], "avg").avg
    assert rounds == (["_max", "_max", "_sum"] if step == 0 else ["_max", "_sum"]), rounds
group = kept
one = tensorstat.all_reduce(parts()["a"], group)
assert one.finish().l2norm == tensorstat.measure(tensors["a"], STATS).l2norm
for bad in range(ranks):
    def fails():
        if rank == bad:
            raise ValueError("its shard is gone")
        return parts()
    try:
        tensorstat.all_reduce(fails, group)
        raise SystemExit("no error")
    except ValueError as failure:
        assert rank == bad and str(failure) == "its shard is gone"
    except tensorstat.Error as failure:
        assert rank != bad and f"rank {bad} failed" in str(failure) and "its shard is gone" in str(failure), failure
    if ranks == 1:
        continue
    for other in ([], [tensorstat.fold(tensors["b"], STATS)], [tensorstat.fold(tensors["a"], "max")]):
        try:
            tensorstat.all_reduce(other if rank == bad else [tensorstat.fold(tensors["a"], STATS)], group)
            raise SystemExit("no error")
        except tensorstat.Error as failure:
            assert "all_reduce: " in str(failure)
""".replace("STATS", repr(STATS))


class Ranks(unittest.TestCase):
    @unittest.skipUnless(shutil.which("mpirun") and importlib.util.find_spec("mpi4py"), "no mpirun or no mpi4py")
    def test_mpi4py(self):
        for ranks in (1, 2, 3, 7):
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write("from mpi4py import MPI\ngroup = None\nrank, ranks = MPI.COMM_WORLD.Get_rank(), "
                           "MPI.COMM_WORLD.Get_size()\n" + RANK)
                file.flush()
                ran = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), sys.executable,
                                      "-m", "mpi4py", file.name], capture_output=True, timeout=300)
            self.assertEqual(ran.returncode, 0, ran.stderr.decode())

    @unittest.skipUnless(shutil.which("mpirun") and importlib.util.find_spec("mpi4py"), "no mpirun or no mpi4py")
    def test_the_example(self):
        example = os.path.join(os.path.dirname(__file__), "../../stats/examples/all_reduce.py")
        rows = numpy.arange(1000, dtype=numpy.float32)[:, None] + numpy.arange(64, dtype=numpy.float32)
        weight = numpy.cos(rows)
        for ranks in (1, 3):
            ran = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), sys.executable, "-m",
                                  "mpi4py", example], capture_output=True, timeout=300, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            lines = ran.stdout.splitlines()
            self.assertEqual(len(lines), 2, ran.stdout)
            norm = numpy.sqrt(numpy.square(weight.astype(float)).sum())
            self.assertIn(f"'argmax': {weight.argmax()}", lines[0])
            self.assertIn(f"'max': {float(weight.max())}, 'l2norm': {norm:.9f}"[:-3], lines[0])
            self.assertIn("'nan count': 0", lines[1])
            if ranks == 1:
                alone = ran.stdout
            self.assertEqual(ran.stdout, alone)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_torch_gloo(self):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, 3, gloo_ranks.BEGIN + "group = None\n" + RANK +
                                 "\ngroup = dist.new_group(list(range(ranks)))\nassert tensorstat.all_reduce(parts, group)\n", folder)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
    def test_a_rank_may_end_behind_its_last_collective(self):
        for round in range(5):
            with tempfile.TemporaryDirectory() as folder:
                gloo_ranks.run_ranks(self, 3, gloo_ranks.BEGIN + "tensorstat.all_reduce(tensorstat.fold(torch.ones(5), 'max'))\n",
                                     folder, fresh=round == 0)

    def test_functions(self):
        for ranks in (1, 2, 7):
            barrier, board, faults = threading.Barrier(ranks, timeout=60), [None] * ranks, []

            def work(rank):
                def reduce_by(operation):
                    def reduce(words):
                        board[rank] = numpy.array(words)
                        barrier.wait()
                        whole = operation(list(board))
                        barrier.wait()
                        numpy.asarray(words)[:] = whole
                    return reduce
                try:
                    exec(RANK, {"rank": rank, "ranks": ranks, "group": tensorstat.Ranks(
                        rank=rank, size=ranks, all_reduce_max=reduce_by(lambda all: numpy.max(all, axis=0)),
                        all_reduce_sum=reduce_by(lambda all: numpy.sum(all, axis=0)))})
                except BaseException as fault:
                    faults.append(fault)
                    barrier.abort()

            threads = [threading.Thread(target=work, args=(rank,)) for rank in range(ranks)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(faults, [])

    def test_words(self):
        with self.assertRaisesRegex(tensorstat.Error, "no ranks are known"):
            script = "import tensorstat, numpy\ntensorstat.all_reduce(tensorstat.fold(numpy.zeros(3)))"
            ran = subprocess.run([sys.executable, "-c", script], capture_output=True)
            raise tensorstat.Error(ran.stderr.decode().splitlines()[-1])
        part = tensorstat.fold(numpy.zeros(3))
        with self.assertRaisesRegex(tensorstat.Error, "group is a int"):
            tensorstat.all_reduce(part, 3)
        alone = tensorstat.Ranks(rank=0, size=1, all_reduce_max=lambda words: None, all_reduce_sum=lambda words: None)
        with self.assertRaisesRegex(tensorstat.Error, "parts is a Partial"):
            tensorstat.all_reduce([3], alone)
        with self.assertRaisesRegex(tensorstat.Error, "all four of rank, size"):
            tensorstat.Ranks(rank=0, size=1)
        with self.assertRaisesRegex(tensorstat.Error, "rank 3 of 2 does not exist"):
            tensorstat.Ranks(rank=3, size=2, all_reduce_max=print, all_reduce_sum=print)
        self.assertEqual(alone.all_reduce(part).serialize(), part.serialize())
        for text in ("a\0b", "\udc80", "x" * 10_000):  # words of a failure, and names, that no C string holds
            def fails():
                raise ValueError(text)
            with self.assertRaises(ValueError):
                alone.all_reduce(fails)
            self.assertEqual(list(alone.all_reduce({text: part})), [text])


if __name__ == "__main__":
    unittest.main()
