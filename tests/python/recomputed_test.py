"""Faults in modules that torch.utils.checkpoint runs again in backward, of both kinds, are named with operation and line. The losses are
those without a watch, and checkpoint() is as it was. Calls that it ends early hold nothing, and what runs behind them is seen.
Skipped where there is no torch (Debian's python3-torch)."""
import contextlib
import json
import logging
import queue
import sys
import tempfile
import threading
import unittest
import weakref

import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

import torch.utils.checkpoint as checkpoints
from torch import nn

ENDS_EARLY = hasattr(torch.nn.modules.module, "_global_forward_hooks_always_called")  # checkpoints do since then: torch 2.1


class Spoiled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):  # own
        return gradient * float("nan")


def log(x):
    return torch.log(-x.abs() - 1)  # log


def root(x):
    return torch.sqrt(x * 0) + x  # root


FAULTS = {"log": (log, "forward", "log"), "root": (root, "backward", "SqrtBackward0"), "own": (Spoiled.apply, "backward", "SpoiledBackward")}


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.fault = None

    def forward(self, x):
        return x if self.fault is None else self.fault(x)


class Net(nn.Module):
    """A block is run by a checkpoint; or both in one."""

    def __init__(self, reentrant, is_one):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), Part(), nn.Dropout(0.1), nn.Linear(8, 8)) for _ in range(2))
        self.reentrant, self.is_one = reentrant, is_one

    def forward(self, x):
        x = self.first(x)
        for block in [nn.Sequential(*self.blocks)] if self.is_one else self.blocks:
            x = checkpoints.checkpoint(block, x, use_reentrant=self.reentrant)
        return self.last(x)


def train(reentrant, is_one, fault, path=None):
    torch.manual_seed(3)
    model = Net(reentrant, is_one)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.01), []
    watch = tensorstat.watch(model, path=path) if path else None
    for step in range(3):
        model.blocks[1][1].fault = fault if step == 1 else None
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if watch:
            watch.step(loss)
        optimizer.zero_grad()
    if watch:
        watch.close()
    return losses


class Recomputed(unittest.TestCase):
    def test_faults_are_named(self):
        names = "CheckpointFunction", "_checkpoint_without_reentrant"
        before = [getattr(checkpoints, each, None) for each in names]
        with open(__file__, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for reentrant in (False, True):
            for is_one in (False, True):
                for name, (fault, phase, operation) in FAULTS.items():
                    with self.subTest(reentrant=reentrant, one=is_one, fault=name), tempfile.TemporaryDirectory() as path:
                        losses = train(reentrant, is_one, fault, path)
                        self.assertEqual(str(losses), str(train(reentrant, is_one, fault)))
                        verdict = tensorstat.origin(path)["verdict"]
                        self.assertEqual((verdict["kind"], verdict["op_name"], verdict["phase"], verdict["iteration"]),
                                         ("produced", f"blocks.1.1/{phase}", phase, 1), verdict)
                        self.assertIn(operation, verdict["operation"])
                        self.assertTrue(lines[verdict["line"] - 1].endswith(f"# {name}") or name == "own", verdict)
        self.assertEqual([getattr(checkpoints, each, None) for each in names], before)

    def test_what_runs_behind_a_recomputation_is_seen(self):
        model = Net(False, False)
        with tempfile.TemporaryDirectory() as path, tensorstat.watch(model, path=path) as watch:
            for number in range(2):
                model.blocks[1][1].fault = log if number else None
                model(torch.randn(4, 8)).square().mean().backward()
            fault, file = watch.first_fault, watch._journal.path
            watch.step()
            with open(file, encoding="utf-8") as lines:
                calls = [each["call"] for each in map(json.loads, lines) if each["kind"] == "code" and each["op_name"] == "blocks.1.1/forward"]
        self.assertEqual((fault.op_name, fault.phase, fault.operation), ("blocks.1.1/forward", "forward", "log"), fault)
        self.assertEqual(calls, [0, 1])

    @unittest.skipUnless(ENDS_EARLY, "this torch runs a recomputation to its end")
    def test_a_recomputation_is_not_kept(self):
        for config in (None, {"task": "statistics", "level": "L0", "rank": [], "step": [], "statistics": {"summary_mode": "statistics"}}):
            with self.subTest(config=config), tempfile.TemporaryDirectory() as path:
                if config is not None:
                    config = json.dumps({**config, "dump_path": path})
                model, given = Net(False, False), []
                model.blocks[0][3].register_forward_pre_hook(lambda _, arguments: given.append(weakref.ref(arguments[0])))
                with tensorstat.watch(model, config, path=path) as watch:
                    model(torch.randn(4, 8)).square().mean().backward()
                    self.assertEqual([each() is None for each in given], [True, True])  # in the forward, and in the recomputation
                    watch.step()

    def test_a_thread_that_runs_backward_keeps_no_calls(self):
        """Such as autograd's thread for a device."""
        losses, done = queue.Queue(), queue.Queue()
        model = Net(False, False)
        with tempfile.TemporaryDirectory() as path, tensorstat.watch(model, path=path) as watch:
            def run():
                while (loss := losses.get()) is not None:
                    loss.backward()
                    done.put(len(watch._local.calls))
            thread = threading.Thread(target=run)
            thread.start()
            counts = []
            for _ in range(3):
                losses.put(model(torch.randn(4, 8)).square().mean())
                counts.append(done.get())
                watch.step()
            losses.put(None)
            thread.join()
        self.assertEqual(counts, [0, 0, 0])

    @unittest.skipUnless(ENDS_EARLY, "this torch calls no hooks behind an exception")
    def test_a_call_that_raises_has_no_part_in_its_siblings(self):
        class Raises(nn.Module):
            def forward(self, x):
                raise ValueError

        class Catches(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = Raises(), nn.Linear(8, 8)

            def forward(self, x):
                with contextlib.suppress(ValueError):
                    self.first(x)
                try:
                    raise ValueError
                except ValueError:
                    return self.second(x)  # an exception is handled around it

        model = Catches()
        with tempfile.TemporaryDirectory() as path:
            with tensorstat.watch(model, path=path) as watch:
                model(torch.randn(4, 8)).sum().backward()
                watch.step()
            with open(watch._journal.path, encoding="utf-8") as lines:
                parents = {each["op_name"]: each["parent"] for each in map(json.loads, lines) if each["kind"] == "code"}
        self.assertEqual(parents, {"Catches/forward": "", "first/forward": "Catches/forward", "second/forward": "Catches/forward"})


if __name__ == "__main__":
    torch.set_num_threads(1)
    logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
    unittest.main()
