"""Two runs with the same bits do not differ in `diff` where one was stopped and resumed, evaluated meanwhile, has more ranks, or was
watched with other arguments: rows that a rule of the other watch leaves out are counted, and are no difference. A run that is resumed
from other values differs, and so does one that ended early. Skipped without torch."""
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


class Wrapper(torch.nn.Module if torch else object):
    """Names its module as DistributedDataParallel does."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)


@unittest.skipUnless(torch, "there is no torch")
class ResumedDiff(unittest.TestCase):
    def train(self, path, parts, *, changed_between=0.0, evaluated=(), rate=None, state=False, optimizer=torch and torch.optim.SGD,
              stays_in_eval=None, frozen=None, zeroed=False, wrap=lambda model: model, **options):
        torch.manual_seed(0)
        model = wrap(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)))
        steps = optimizer(model.parameters(), 0.1)
        for number, part in enumerate(parts):
            if number and changed_between:
                with torch.no_grad():
                    model[0].bias.add_(changed_between)
            with tensorstat.watch(model, path=path, resume=number > 0, optimizer=None if state else steps, **options) as watch:
                for step in part:
                    if step in evaluated:
                        model.eval()
                        with torch.no_grad():
                            model(torch.full((2, 2), 7.0))
                        model.train(step != stays_in_eval)
                    if step == frozen:
                        model[0].requires_grad_(False)
                    if rate is not None:
                        steps.param_groups[0]["lr"] = rate(step)
                    loss = model(torch.ones(4, 2) * (step + 1)).pow(2).mean()
                    steps.zero_grad()
                    loss.backward()
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                    steps.step()
                    if zeroed:
                        steps.zero_grad(set_to_none=True)
                    watch.step(loss)

    def compare(self, *options):
        ran = subprocess.run([COMMAND, "diff", self.a, self.b, "--format", "json", *options], capture_output=True, text=True, check=False)
        self.assertIn(ran.returncode, (0, 1), ran.stderr)
        return ran.returncode, json.loads(ran.stdout)

    def test_of_equal_runs(self):
        for options in ({}, {"inputs": True}, {"every": 2}, {"gradients": False}, {"optimizer": torch.optim.Adam}, {"optimizer": torch.optim.AdamW}):
            for parts in ((range(2), range(2, 4)), (range(1), range(1, 3), range(3, 4))):
                with self.subTest(options=options, parts=parts), tempfile.TemporaryDirectory() as folder:
                    self.a, self.b = folder + "/a", folder + "/b"
                    self.train(self.a, [range(4)], **options)
                    self.train(self.b, parts, **options)
                    for first in ((), ("--first",)):
                        code, answer = self.compare(*first)
                        self.assertEqual((code, answer["unmatched_a"], answer["unmatched_b"]), (0, [], []))
                    self.a, self.b = self.b, self.a
                    code, answer = self.compare()
                    self.assertEqual((code, answer["unmatched_a"], answer["unmatched_b"]), (0, [], []))

    def test_of_a_run_that_was_resumed_from_other_values(self):
        with tempfile.TemporaryDirectory() as folder:
            self.a, self.b = folder + "/a", folder + "/b"
            self.train(self.a, [range(4)])
            self.train(self.b, (range(2), range(2, 4)), changed_between=0.5)
            code, answer = self.compare()
            self.assertEqual(code, 1)
            self.assertTrue(any("0.bias" in json.dumps(each) for each in answer["unmatched_b"]), answer["unmatched_b"])

    def compare_both_ways(self, a, b):
        """(exit status, first beginning, left out) of A with B, and of B with A."""
        results = []
        with tempfile.TemporaryDirectory() as folder:
            for name, job in (("a", a), ("b", b)):
                self.train(f"{folder}/{name}", job.pop("parts", [range(4)]), **job)
            for self.a, self.b in ((folder + "/a", folder + "/b"), (folder + "/b", folder + "/a")):
                code, json_of = self.compare("--first")
                results.append((code, next(iter(json_of["first"]), None), json_of["left_out"]))
        return results

    def test_what_one_watch_leaves_out(self):
        for reason, one, other in (("evaluation", {}, {"evaluated": (0, 1, 3)}), ("evaluation", {}, {"evaluated": (1,), "stays_in_eval": 1}),
                                   ("not_watched", {}, {"zeroed": True}), ("not_watched", {}, {"wrap": Wrapper}), ("not_watched", {}, {"inputs": True}),
                                   ("not_watched", {}, {"parameters": False}), ("not_watched", {}, {"gradients": False}),
                                   ("not_watched", {}, {"level": "op"}), ("not_watched", {}, {"where": "^0"}),
                                   ("not_watched", {"optimizer": torch.optim.Adam}, {"optimizer": torch.optim.Adam, "state": True}),
                                   ("iteration", {}, {"every": 2})):
            with self.subTest(reason=reason, other=other):
                for code, first, left_out in self.compare_both_ways(one, dict(other)):
                    self.assertEqual((code, first), (0, None))
                    self.assertEqual([reason in left_out["a"], reason in left_out["b"]].count(True), 1, left_out)

    def test_a_change_beside_what_is_left_out(self):
        def late(step):
            return 0.1 if step < 2 else 0.01
        for other in ({"evaluated": (1,)}, {"inputs": True}, {"level": "op"}):
            with self.subTest(other=other):
                for code, first, _ in self.compare_both_ways({"rate": late}, dict(other)):
                    self.assertEqual((code, first["iteration"], first["phase"], first["op_type"]), (1, 2, "optimizer", "Parameter"))

    def test_other_values_after_a_resume_come_first(self):
        for code, first, _ in self.compare_both_ways({}, {"parts": (range(2), range(2, 4)), "changed_between": 0.5}):
            self.assertEqual((code, first["op_name"], first["iteration"], first["phase"]), (1, "0.bias", 2, "parameter"))

    def test_a_layer_that_is_frozen_after_a_resume(self):
        for code, first, _ in self.compare_both_ways({}, {"frozen": 2}):
            self.assertEqual((code, first["iteration"], first["phase"], first["op_name"]), (1, 2, "gradient", "0.bias"))

    def test_a_run_that_ended_early_differs(self):
        for code, first, _ in self.compare_both_ways({}, {"parts": [range(3)]}):
            self.assertEqual((code, first), (1, None))

    def test_another_number_of_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            self.a, self.b = folder + "/a", folder + "/b"
            self.train(self.a, [range(2)], rank=0)
            for rank in (0, 1):
                self.train(self.b, [range(2)], rank=rank)
            code, answer = self.compare("--first")
            self.assertEqual((code, answer["first"]), (0, []))
            self.assertGreater(answer["left_out"]["b"]["rank"], 0)


if __name__ == "__main__":
    unittest.main()
