"""The Python in the documents runs, and README's job gives what README says. Skipped without torch."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import tensorstat

ROOT = pathlib.Path(__file__).resolve().parents[2]


def blocks_of(document):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(), re.S | re.M)


def without_fractions(text):
    """Another processor's arithmetic may change digits behind a point."""
    return re.sub(r"\.[0-9]+", ".", text)


@unittest.skipIf(importlib.util.find_spec("torch") is None, "torch is not installed")
class Documents(unittest.TestCase):
    def setUp(self):
        self.home = os.getcwd()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, self.home)
        os.chdir(folder.name)

    def test_the_job_of_the_readme(self):
        example = re.search(r"^    \$ python3 job.py; tensorstat origin runs/nan\n((?:    .*\n)+)", (ROOT / "README.md").read_text(), re.M)
        pathlib.Path("job.py").write_text(blocks_of("README.md")[0])
        subprocess.run([sys.executable, "-B", "job.py"], check=True)
        process = subprocess.run([os.environ["COMMAND"], "origin", "runs/nan"], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(without_fractions(process.stdout), without_fractions(re.sub("^    ", "", example[1], flags=re.M)))

    def test_the_page_about_python(self):
        import torch

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Sequential(torch.nn.Linear(4, 2))

            def forward(self, x):
                return self.layer(x)

        model, other_model = Net(), Net()
        names = dict(w=numpy.ones((4, 4), "f4"), b=numpy.ones(4, "f4"), x=numpy.ones(4, "f4"), y=numpy.ones(4, "f4"), model=model,
                     other_model=other_model, data=torch.ones(3, 5, 4), loss=torch.sum, step=0,
                     optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
        numpy.save("gradient.npy", names["x"])
        header = b'{"layer.0.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        pathlib.Path("model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
        for run in "npu", "gpu":
            session = tensorstat.DumpSession((ROOT / "stats/examples/data_dump.json").read_text(), path=os.path.abspath(run))
            session.collect("Add", "Add-op1", outputs=[names["x"]], iteration=1)
            session.close()
        rows = next(pathlib.Path("npu").rglob("statistic.csv"))
        pathlib.Path("statistic.csv").write_bytes(rows.read_bytes())
        config = (ROOT / "stats/examples/data_dump.json").read_text().replace("/tmp/tensorstat_example", os.path.abspath("dump"))
        pathlib.Path("data_dump.json").write_text(config)
        # A dump that origin() can read before the block that writes it.
        with tensorstat.watch(model, path="d") as watched:
            model(names["data"][0])
            watched.step()
        ran = 0
        for block in blocks_of("stats/doc/python.md"):
            if "Trainer(" in block:
                continue
            block = block.replace("/tmp/dump", os.path.abspath("d"))
            if "watch(" in block:
                block = block.replace('d", every', 'd2", every')
            if importlib.util.find_spec("pandas") is None:
                block = re.sub(r".*to_pandas.*\n", "", block)
            exec(block, names | {"numpy": numpy, "tensorstat": tensorstat})  # the page says what the names are
            ran += 1
        self.assertGreaterEqual(ran, 4)

    def test_the_page_about_alerts(self):
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 2))
        for block in blocks_of("stats/doc/alerts.md"):
            exec(block, dict(tensorstat=tensorstat, model=model, data=torch.ones(3, 5, 4),
                             optimizer=torch.optim.SGD(model.parameters(), lr=0.1)))
        for run in "ab":
            self.assertTrue(os.path.exists(f"runs/{run}/rank_0/last_steps.ring"))


if __name__ == "__main__":
    unittest.main()
