"""Two runs with the same bits do not differ in `diff` where one was stopped and resumed: a gradient is no pair of a parameter, and rows
that only repeat what the other run wrote before are no difference. A run that is resumed from other values differs. Skipped where there
is no torch."""
import json
import os
import subprocess
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    torch = None

COMMAND = os.environ["COMMAND"]


@unittest.skipUnless(torch, "there is no torch")
class ResumedDiff(unittest.TestCase):
    def train(self, path, parts, *, changed_between=0.0, optimizer=torch and torch.optim.SGD, **options):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        steps = optimizer(model.parameters(), 0.1)
        for number, part in enumerate(parts):
            if number and changed_between:
                with torch.no_grad():
                    model[0].bias.add_(changed_between)
            with tensorstat.watch(model, path=path, resume=number > 0, optimizer=steps, **options) as watch:
                for step in part:
                    loss = model(torch.ones(4, 2) * (step + 1)).pow(2).mean()
                    steps.zero_grad()
                    loss.backward()
                    steps.step()
                    watch.step(loss)

    def compare(self, *options):
        ran = subprocess.run([COMMAND, "diff", self.a, self.b, "--format", "json", *options], capture_output=True, text=True, check=False)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.returncode, json.loads(ran.stdout)

    def test_of_equal_runs(self):
        for options in ({}, {"inputs": True}, {"gradients": False}, {"optimizer": torch.optim.Adam}, {"optimizer": torch.optim.AdamW}):
            for parts in ((range(2), range(2, 4)), (range(1), range(1, 3), range(3, 4))):
                with self.subTest(options=options, parts=parts), tempfile.TemporaryDirectory() as folder:
                    self.a, self.b = folder + "/a", folder + "/b"
                    self.train(self.a, [range(4)], **options)
                    self.train(self.b, parts, **options)
                    for first in ((), ("--first",)):
                        code, found = self.compare(*first)
                        self.assertEqual((code, found["unmatched_a"], found["unmatched_b"]), (0, [], []))
                    self.a, self.b = self.b, self.a
                    code, found = self.compare()
                    self.assertEqual((code, found["unmatched_a"], found["unmatched_b"]), (0, [], []))

    def test_of_a_run_that_was_resumed_from_other_values(self):
        with tempfile.TemporaryDirectory() as folder:
            self.a, self.b = folder + "/a", folder + "/b"
            self.train(self.a, [range(4)])
            self.train(self.b, (range(2), range(2, 4)), changed_between=0.5)
            code, found = self.compare()
            self.assertEqual(code, 1)
            self.assertTrue(any("0.bias" in json.dumps(each) for each in found["unmatched_b"]), found["unmatched_b"])


if __name__ == "__main__":
    unittest.main()
