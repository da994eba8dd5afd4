"""Whichever statistics a watch writes of a training in which NaN begins, the watch itself, its closing words and its alerts, `origin`,
`report`, --fail-on and --where say so, and of a clean one all say that nothing is wrong. Skipped without torch."""
import contextlib
import io
import itertools
import json
import logging
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
FULL = bool(os.environ.get("TENSORSTAT_FULL"))
# Each shows NaN. Of the others of MindSpore's list, none does.
TELLING = ["max", "min", "avg", "l2norm", "nan count"]


def config_of(categories, path):
    return json.dumps({
        "common_dump_settings": {"dump_mode": 0, "path": path, "net_name": "net", "iteration": "all", "saved_data": "statistic",
                                 "input_output": 0, "kernels": [], "support_device": [0], "statistic_category": categories},
        "e2e_dump_settings": {"enable": True, "trans_flag": True}})


@unittest.skipUnless(torch, "there is no torch")
class OneVerdict(unittest.TestCase):
    def train(self, path, categories, is_bad, alerts=""):
        class Log(torch.nn.Module):
            def forward(self, x):
                return torch.log(x - 2 if is_bad else x.abs() + 1)

        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), Log())
        words = io.StringIO()
        handler = logging.StreamHandler(words)
        logging.getLogger("tensorstat").addHandler(handler)
        try:
            with contextlib.redirect_stderr(words), \
                    tensorstat.watch(model, config_of(categories, path), path=path, alerts=alerts) as watch:
                found = []
                for _ in range(2):
                    loss = model(torch.ones(2, 4)).sum()
                    loss.backward()
                    found += getattr(watch.step(loss), "alerts", [])
        finally:
            logging.getLogger("tensorstat").removeHandler(handler)
        return watch.first_fault, words.getvalue(), found

    def run_command(self, *arguments):
        return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False)

    def test_of_every_choice_of_statistics(self):
        choices = [list(chosen) for count in range(1, len(TELLING) + 1) for chosen in itertools.combinations(TELLING, count)]
        if not FULL:
            choices = [each for each in choices if len(each) == 1 or each in (["avg", "l2norm"], TELLING)]
        for categories in choices:
            for is_bad in (True, False):
                with self.subTest(categories=categories, is_bad=is_bad), tempfile.TemporaryDirectory() as path:
                    with tempfile.TemporaryDirectory() as other:  # rules measure their statistics, beside the columns
                        self.assertEqual(bool(self.train(other, categories, is_bad, "nan")[2]), is_bad)
                    fault, words, _ = self.train(path, categories + ["count"], is_bad)
                    kind = fault and (fault.kind, fault.phase, fault.operation)
                    self.assertEqual(kind, ("NaN", "forward", "log") if is_bad else None)
                    self.assertEqual("first NaN" in words, is_bad, words)
                    origin = self.run_command("origin", path)
                    self.assertEqual(origin.returncode, 1 if is_bad else 0, origin.stdout + origin.stderr)
                    self.assertEqual("log at " in origin.stdout, is_bad, origin.stdout)
                    report = self.run_command("report", path)
                    self.assertEqual("NaN in 2" in report.stdout, is_bad, report.stdout)
                    failing = self.run_command(path, "--fail-on", "nan")
                    self.assertEqual(failing.returncode, 1 if is_bad else 0, failing.stderr)
                    shown = self.run_command(path, "--where", "nan", "--format", "csv", "-q")
                    self.assertEqual(shown.returncode, 0, shown.stderr)
                    self.assertEqual(len(shown.stdout.splitlines()) > 1, is_bad, shown.stdout)


if __name__ == "__main__":
    unittest.main()
