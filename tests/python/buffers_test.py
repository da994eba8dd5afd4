"""A buffer that a forward wrote has a row at the end of the step, and others have none; a NaN in it is told with the forward that wrote it, by
the watch, its log and origin, in the step in which it is written. Skipped where there is no torch (Debian's python3-torch)."""
import csv
import glob
import math
import os
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "torch is not installed")
class Buffers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def train(self, model, batches, name="run", between=None, **options):
        path = os.path.join(self.folder.name, name)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        with tensorstat.watch(model, path=path, **options) as w:
            for step, batch in enumerate(batches):
                loss = model(batch).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                w.step(loss)
                if between:
                    between(step)
        return w.first_fault, tensorstat.origin(path)["verdict"], path

    def rows_of(self, path):
        buffers = []
        for file in sorted(glob.glob(os.path.join(path, "rank_0", "*", "0", "*", "statistic.csv")), key=lambda name: int(name.split("/")[-2])):
            with open(file, newline="") as rows:
                buffers += [(row["Op Name"], int(file.split("/")[-2])) for row in csv.DictReader(rows) if row["Op Type"] == "ModuleBuffer"]
        return buffers

    def test_rows_of_what_was_written(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
        model.register_buffer("mask", torch.tensor([-float("inf"), 1]))
        batches = list(torch.randn(3, 5, 4))
        fault, verdict, path = self.train(model, batches)
        self.assertEqual((fault, verdict["kind"]), (None, "none"))
        names = "1.running_mean", "1.running_var"
        self.assertEqual(self.rows_of(path), [(name, step) for step in range(3) for name in names])
        self.assertEqual(self.rows_of(self.train(model, batches, "every", every=2)[2]), [(name, step) for step in (0, 2) for name in names])
        self.assertEqual(self.rows_of(self.train(model, batches, "off", parameters=False)[2]), [])
        self.assertEqual(self.rows_of(self.train(model.eval(), batches, "eval")[2]), [])
        # A buffer of the model itself, and one that is put in the place of another, as a mask of a new length is.
        model.forward = lambda x: (setattr(model, "mask", torch.full((2,), -float("inf"))), torch.nn.Sequential.forward(model, x))[1]
        fault, verdict, path = self.train(model, batches, "mask")
        self.assertEqual((fault, verdict["kind"], self.rows_of(path)), (None, "none", [("mask", step) for step in range(3)]))

    def test_a_write_by_data(self):
        """Old code keeps moving averages so; no version tells it."""
        class Average(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("mean", torch.zeros(3))
                self.register_buffer("constant", torch.ones(3))

            def forward(self, x):
                seen, factor = self.mean.clone(), math.nan if len(calls) == 2 else 0.5
                calls.append(x)
                self.mean.data.mul_(factor).add_(x.detach().mean(0))
                return x - seen * self.constant
        calls = []
        fault, verdict, path = self.train(torch.nn.Sequential(torch.nn.Linear(4, 3), Average()), list(torch.randn(4, 5, 4)))
        self.assertEqual(self.rows_of(path), [("1.mean", step) for step in range(3)])
        self.assertEqual((fault.buffer, fault.iteration, verdict["kind"], verdict["iteration"]), ("1.mean", 2, "produced", 2))

    def test_an_instance_norm(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Unflatten(1, (2, 2)), torch.nn.InstanceNorm1d(2, track_running_stats=True))
        batches = [torch.randn(3, 4), torch.randn(3, 4)]
        _, verdict, path = self.train(model, batches, "instances")
        self.assertEqual((verdict["kind"], self.rows_of(path)),
                         ("none", [(name, step) for step in range(2) for name in ("2.running_mean", "2.running_var")]))

    def test_a_nan_is_told_with_its_forward(self):
        class Norm(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("running_var", torch.ones(3))

            def forward(self, x):
                with torch.no_grad():
                    self.running_var.lerp_(x.var(0), 0.1)
                return x - x.mean(0)

        model = torch.nn.Sequential(torch.nn.Linear(4, 3), Norm(), torch.nn.Linear(3, 1))
        batches = list(torch.randn(10, 4).split(3))  # the last has one sample
        with self.assertLogs("tensorstat", "WARNING") as log:
            fault, verdict, _ = self.train(model, batches)
        self.assertEqual((verdict["kind"], verdict["phase"], verdict["op_name"], verdict["iteration"]), ("produced", "forward", "1/forward", 3))
        self.assertIn("written into its buffer 1.running_var", verdict["sentence"])
        self.assertEqual((fault.kind, fault.phase, fault.op_name, fault.iteration), ("NaN", "forward", "1/forward", 3))
        self.assertIn("which wrote it into its buffer 1.running_var", log.output[-1])
        with self.assertLogs("tensorstat", "WARNING") as log:
            model[1].running_var.fill_(1)
            fault, verdict, _ = self.train(model, batches, "operations", level="op")
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["operation"], verdict["iteration"]),
                         ("produced", "1/var.0/forward", "var", 3))
        self.assertTrue(any("written into the buffer 1.running_var" in each for each in verdict["details"]), verdict)
        self.assertEqual((fault.op_name, fault.operation, fault.line, fault.iteration),
                         (verdict["op_name"], "var", verdict["line"], 3))
        self.assertIn("which wrote it into its buffer 1.running_var", log.output[-1])

    def test_a_nan_that_something_else_wrote(self):
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3).eval(), torch.nn.Linear(3, 1))

        def between(step):
            if step == 1:
                model[1].running_mean[1] = float("nan")

        fault, verdict, _ = self.train(model, list(torch.randn(4, 5, 4)), between=between)
        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["iteration"]), ("parameter", "1.running_mean", 2), verdict)
        self.assertEqual((fault.phase, fault.op_name, fault.iteration), ("parameter", "1.running_mean", 2))


if __name__ == "__main__":
    unittest.main()
