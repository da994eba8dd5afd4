"""The scripts of examples/trees give the rows of one call of the command, where their engine is installed. Ray is a
stub here."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

import numpy

COMMAND = os.environ["COMMAND"]
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "stats", "examples", "trees")


class Engines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        os.makedirs("tree")
        rng = numpy.random.default_rng(4)
        for i in range(12):
            numpy.save(f"tree/x{i}.npy", rng.normal(size=3000 * i))
        numpy.save("tree/large.npy", rng.normal(size=900_000).astype("f4"))
        self.environment = {**os.environ, "PATH": os.path.dirname(COMMAND) + ":" + os.environ["PATH"],
                            "PYTHONPATH": os.getcwd()}
        self.whole = self.run_command(COMMAND, "tree", "--fail-on", "nan,inf")

    def run_command(self, *arguments):
        return subprocess.run(arguments, capture_output=True, timeout=300, env=self.environment)

    def assert_whole(self, ran):
        self.assertEqual((ran.returncode, ran.stdout), (0, self.whole.stdout), ran.stderr)
        self.assertGreater(len(ran.stdout), 500)

    @unittest.skipUnless(shutil.which("parallel"), "GNU parallel is not installed")
    def test_parallel(self):
        self.assert_whole(self.run_command(f"{SCRIPTS}/parallel.sh", "tree", "work"))
        os.remove("work/states/003.tsp")
        self.assert_whole(self.run_command(f"{SCRIPTS}/parallel.sh", "tree", "work"))

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed")
    def test_mpirun(self):
        self.assertEqual(self.run_command(COMMAND, "plan", "tree", "--parts", "7", "-o", "work/plan").returncode, 0)
        ran = self.run_command("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", f"{SCRIPTS}/mpirun.sh", "tree", "work")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(os.listdir("work/states")), 7)
        self.assert_whole(self.run_command(COMMAND, "merge", "work/states"))

    @unittest.skipUnless(shutil.which("sinfo") and subprocess.run(["sinfo", "-h"], capture_output=True).stdout,
                         "no SLURM is configured here")
    def test_slurm(self):
        ran = self.run_command(f"{SCRIPTS}/slurm.sh", "tree", "work")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.run_command("srun", "--dependency", f"afterany:{ran.stdout.split()[-1].decode()}", "true")
        with open("work/merge.log", "rb") as file:
            self.assertIn(self.whole.stdout, file.read())

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "python3-distributed is not installed")
    def test_dask(self):
        self.assert_whole(self.run_command(sys.executable, f"{SCRIPTS}/dask_tree.py", "tree", "work"))

    def test_ray_stub(self):
        with open("ray.py", "w") as file:  # what ray_tree.py uses of Ray, one process after another
            file.write(textwrap.dedent("""\
                def init(): pass
                def remote(**options):
                    assert options == {"num_cpus": 2, "max_retries": 2}
                    def decorate(function):
                        class Remote:
                            remote = staticmethod(lambda *arguments: (function, arguments))
                        return Remote
                    return decorate
                def wait(waiting): return waiting[:1], waiting[1:]
                def get(task): return task[0](*task[1])
                """))
        self.assert_whole(self.run_command(sys.executable, f"{SCRIPTS}/ray_tree.py", "tree", "work"))


if __name__ == "__main__":
    unittest.main()
