"""Small PyTorch jobs with one planted fault each, and clean ones: `tensorstat origin` names the place of each fault, its phase,
its iteration and where it can the operation and its line, and accuses nobody of the clean ones. Skipped where there is no
torch (Debian's python3-torch)."""
import contextlib
import functools
import json
import logging
import os
import subprocess
import sys
import tempfile
import unittest

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

import planted.kit
import planted.ranks
from planted.kit import JOBS, LAST
from planted.ranks import RANK_JOBS

import same_verdict

# Settings that a user may switch off, and the words of the answer for each.
MODES = {
    "parameters": ({"parameters": False}, True, {"parameters"}),
    "gradients": ({"gradients": False}, True, {"gradients"}),
    "loss": ({}, False, {"loss"}),
    "parameters_and_gradients": ({"parameters": False, "gradients": False}, True, {"parameters", "gradients"}),
    "parameters_and_zoom": ({"parameters": False, "zoom": False}, True, {"parameters"}),
}


class Jobs(unittest.TestCase):
    def verdict_of(self, path):
        answer = tensorstat.origin(path)
        self.check_lists(answer)
        same_verdict.check_report(self, path, answer)
        return answer["verdict"]

    def dump_of(self, name):
        """The verdict on a job that runs now."""
        torch.manual_seed(11)
        LAST.clear()
        with tempfile.TemporaryDirectory() as folder:
            with quiet():
                JOBS[name][0](f"{folder}/dump")
            return self.verdict_of(f"{folder}/dump")

    def check_lists(self, answer):
        """The first of the lists is the verdict: one judge."""
        verdict = answer["verdict"]
        lists = {"entered": "entered", "parameter": "entered", "unknown": "unknown"}
        if verdict["kind"] == "none":
            self.assertFalse(answer["producers"] or answer["entered"] or answer["unknown"] or answer["propagators"], answer)
            return
        first = answer[lists.get(verdict["kind"], "producers")][0]
        for key in ("op_type", "op_name", "rank", "iteration", "io", "slot"):
            self.assertEqual(first[key], verdict[key], answer)

    def check(self, job, verdict, wanted):
        shown = json.dumps(dict(verdict), indent=1, default=str)
        self.assertEqual(verdict["kind"], wanted["kind"], shown)
        if wanted["kind"] == "none":
            return
        for key in ("iteration", "rank"):
            if wanted.get(key) is not None:
                self.assertEqual(verdict[key], wanted[key], f"{key}: {shown}")
        if wanted.get("phase"):
            self.assertEqual(verdict["phase"], wanted["phase"], shown)
        if wanted.get("op_name"):
            self.assertEqual(same_verdict.bare(verdict["op_name"]), wanted["op_name"], shown)
        if wanted.get("operation"):
            self.assertIn(wanted["operation"], verdict["operation"] or "", shown)
        if wanted.get("comment"):
            self.assertIn(f"# {wanted['comment'].removeprefix('# ')}", line_of(verdict["file"], verdict["line"]), shown)


class PlantedFaults(Jobs):
    def check_watch(self, made, wanted):
        """The watch's own answer."""
        fault = made.first_fault
        if wanted["kind"] == "none":
            self.assertIsNone(fault)
            return
        self.assertIsNotNone(fault, "the watch saw no fault")
        self.assertEqual(fault.iteration, wanted["iteration"], fault)
        if wanted["op_name"]:
            self.assertEqual(same_verdict.bare(fault.op_name), wanted["op_name"], fault)
        if wanted["operation"]:
            self.assertIn(wanted["operation"], fault.operation or "", fault)
        if wanted["comment"]:
            self.assertIn(f"# {wanted['comment'].removeprefix('# ')}", line_of(fault.file, fault.line), fault)

    def run_job(self, name):
        job, wanted = JOBS[name]
        torch.manual_seed(11)
        LAST.clear()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/dump"
            with quiet():
                job(path)
            if os.environ.get("SHOW"):
                with open(f"{path}/rank_0/model/watch.ndjson") as file:
                    print(file.read(), LAST[-1].first_fault)
            with self.subTest("the watch itself"):
                self.check_watch(LAST[-1], wanted)
            with self.subTest("origin"):
                verdict = self.verdict_of(path)
                self.check(job, verdict, wanted)
            with self.subTest("one verdict"):
                same_verdict.check_watch(self, verdict, LAST[-1].first_fault)

    def test_ranks(self):
        if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
            self.skipTest("torch has no gloo")
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([sys.executable, "-B", __file__, "--rank", str(rank), folder], stderr=subprocess.PIPE)
                     for rank in (0, 1)]
            for process in ranks:
                words = process.communicate(timeout=300)[1].decode()
                self.assertEqual(process.returncode, 0, words)
            for name, (job, wanted) in RANK_JOBS.items():
                with self.subTest(name):
                    self.check(job, self.verdict_of(f"{folder}/{name}"), wanted)


class SwitchedOff(Jobs):
    """Where something is switched off, the answer may be unknown, and nobody is accused who is innocent. A fault that leaves no
    trace in the rows is "nothing wrong", and the answer says what was not watched."""

    def judge(self, verdict, wanted, job, options, missing):
        if verdict["kind"] in ("none", "unknown") and verdict["kind"] != wanted["kind"]:
            self.assertTrue(set(verdict["not_watched"]) & missing or verdict["kind"] == "unknown", verdict)
            if verdict["kind"] == "unknown":
                self.assertTrue(verdict["sentence"].startswith("Not known: "), verdict)
            return "unknown" if verdict["kind"] == "unknown" else "not seen"
        if "loss" in missing and wanted["kind"] == "loss":
            wanted = {**wanted, "phase": None, "op_name": None}  # of the loss and its backward, which
        if options.get("zoom") is False:
            wanted = {**wanted, "operation": None, "comment": None}
        self.check(job, verdict, wanted)
        return "right"

    def run_all(self, mode):
        options, tells_loss, missing = MODES[mode]
        counts = {"right": 0, "unknown": 0, "not seen": 0, "wrong": 0}
        planted.kit.SWITCHED, planted.kit.TELLS_LOSS = options, tells_loss
        try:
            # The quick test runs every fifth job, and others in each mode.
            first, step = (0, 1) if "TENSORSTAT_FULL" in os.environ else (list(MODES).index(mode), len(MODES))
            for name, (job, wanted) in list(JOBS.items())[first::step]:
                with self.subTest(name):
                    counts["wrong"] += 1
                    verdict = self.dump_of(name)
                    counts[self.judge(verdict, wanted, job, options, missing)] += 1
                    counts["wrong"] -= 1
                    if wanted["kind"] == "none":
                        self.assertIsNone(LAST[-1].first_fault if verdict["kind"] == "none" else None)
        finally:
            planted.kit.SWITCHED, planted.kit.TELLS_LOSS = {}, True
        print(f"without {mode}: {counts}", file=sys.stderr)


def line_of(file, line):
    if not file:
        return "no file"
    with open(file, encoding="utf-8") as source:
        return source.read().split("\n")[line - 1]


@contextlib.contextmanager
def quiet():
    logger = logging.getLogger("tensorstat")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


for each in MODES:
    setattr(SwitchedOff, f"test_without_{each}", functools.partialmethod(SwitchedOff.run_all, each))
for each in JOBS:
    setattr(PlantedFaults, f"test_{each}", functools.partialmethod(PlantedFaults.run_job, each))

if __name__ == "__main__":
    if "--rank" in sys.argv:
        logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
        planted.ranks.planted_in_ranks(sys.argv[3], int(sys.argv[2]))
    else:
        torch.set_num_threads(1)
        unittest.main()
