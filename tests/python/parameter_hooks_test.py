"""A watch of parameters' gradients holds no node of autograd behind its step: a parameter may have another shape in forward, another dtype
since the watch began, and another stream. What lives on behind a step is told once in each. Two ranks of FSDP1 train as they do alone.
Skipped without torch (Debian's python3-torch)."""
import csv
import glob
import json
import logging
import sys
import tempfile
import unittest

import gloo_ranks
import tensorstat

try:
    import torch
except ImportError:
    print("torch is not installed: nothing is tested here", file=sys.stderr)
    sys.exit(0)

HAS_HOOKS_OF_TENSORS = hasattr(torch.Tensor, "register_post_accumulate_grad_hook")  # torch 2.1
MSPROBE = {"task": "statistics", "level": "L0", "rank": [], "step": [], "statistics": {"summary_mode": "statistics"}}

FSDP1 = gloo_ranks.BEGIN + """
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
def train(watched, use_orig_params):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    model = FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=torch.device("cpu"),
                                     use_orig_params=use_orig_params)
    optimizer, losses = torch.optim.SGD(model.parameters(), 0.1), []
    watch = tensorstat.watch(model, path=f"{folder}{use_orig_params}") if watched else None
    for step in range(3):
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
for use_orig_params in (False, True):
    assert train(True, use_orig_params) == train(False, use_orig_params)
assert messages == [], messages
"""


def can_fsdp1():
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel  # noqa: F401
    except (ImportError, ValueError):  # torch 1.13 cannot import it on Python 3.11
        return False
    return HAS_HOOKS_OF_TENSORS


class Sharded(torch.nn.Module):
    """As FSDP1 does: the parameter is whole in forward alone."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0))
        self.weight._is_flat_param = True  # before torch 2.1 it is known by this
        self.whole = torch.arange(8.0)

    def forward(self, x):
        self.weight.data = self.whole
        return (self.weight * x).sum()

    def end(self):
        gradient, self.weight.grad = self.weight.grad, None
        self.weight.data = self.whole[:4]
        self.whole -= gradient


def rows_of(path, step, op_type):
    """The rows' names, with input or output."""
    with open(f"{path}/rank_0/model/0/{step}/statistic.csv", newline="") as file:
        return [(row["Op Name"], row["IO"]) for row in csv.DictReader(file) if row["Op Type"] == op_type]


def node_of(parameter):
    return parameter.expand_as(parameter).grad_fn.next_functions[0][0]


class Parameters(unittest.TestCase):
    def kinds(self):
        """The path and the config of both kinds of watch."""
        paths = [self.enterContext(tempfile.TemporaryDirectory()) for _ in range(2)]
        return [(paths[0], None), (paths[1], json.dumps({**MSPROBE, "dump_path": paths[1]}))]

    def test_a_parameter_with_another_shape_in_forward(self):
        def train(watch):
            model, losses = torch.nn.Sequential(Sharded()), []
            w = watch(model)
            for _ in range(3):
                loss = model(torch.ones(8))
                loss.backward()
                losses.append(loss.item())
                model[0].end()
                if w is not None:
                    w.step(loss)
            if w is not None:
                w.close()
            return losses

        for path, config in self.kinds():
            self.assertEqual(train(lambda model: tensorstat.watch(model, config, path=path)), train(lambda _: None))

    def test_no_node_is_held_behind_a_step(self):
        for path, config in self.kinds():
            model = torch.nn.Linear(3, 3) if config is None else torch.nn.Sequential(torch.nn.Linear(3, 3))
            with tensorstat.watch(model, config, path=path) as watch:
                for _ in range(3):
                    model(torch.ones(3)).sum().backward()
                    for parameter in model.parameters():
                        node = node_of(parameter)
                        self.assertNotIn("seen", node.metadata)
                        node.metadata["seen"] = True
                        node = None
                        if HAS_HOOKS_OF_TENSORS:  # nor in it
                            self.assertNotIn("seen", node_of(parameter).metadata)
                    watch.step()

    def test_leaves_and_graphs_that_live_on_have_a_gradient_once(self):
        """A module returns its argument or its parameter, which keep what hooks them; or a graph is kept and used in each step."""
        class Position(torch.nn.Module):
            kept = None

            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(3))

            def forward(self):
                self.kept = self.weight * 2 if self.kept is None else self.kept
                return self.weight, self.kept

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.same, self.also, self.position = torch.nn.Identity(), torch.nn.Identity(), Position()

            def forward(self, x):
                weight, kept = self.position()
                return self.same(x) * weight * self.also(kept)

        for path, config in self.kinds():
            model, x = Net(), torch.ones(3, requires_grad=True)
            with tensorstat.watch(model, config, path=path, **({"inputs": True} if config is None else {})) as watch:
                for step in range(4):
                    for _ in range(2):
                        loss = model(x).sum()  # the loss before lives on, and so does the leaves' node
                        loss.backward(retain_graph=True)
                    watch.step()
                    for leaf in x, model.position.weight:
                        self.assertFalse(leaf._backward_hooks)
                    self.assertLessEqual(len(model.position.kept._backward_hooks or ()), 4)
            if config is None:
                for step in range(4):
                    rows = [name for kind in ("Identity", "Position") for name, _ in rows_of(path, step, kind)]
                    # Of each backward one row of a result and one of an argument; a leaf has no row of a result.
                    expected = {"same": 2, "also": 4, "position": 2}
                    self.assertEqual({name: rows.count(f"{name}/backward") for name in expected}, expected, step)

    def test_parameters_that_change_behind_the_beginning_of_a_watch(self):
        def change(model):
            model.double()
            model[2] = torch.nn.Linear(3, 3).double()

        path = self.enterContext(tempfile.TemporaryDirectory())
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
        with tensorstat.watch(model, json.dumps({**MSPROBE, "dump_path": path})) as watch:
            for step in range(2):
                change(model)
                model(torch.ones(3, dtype=torch.float64)).sum().backward()
                watch.step()
        for step in range(2):
            (file,) = glob.glob(f"{path}/step{step}/rank*/dump.json")
            with open(file, encoding="utf-8") as text:
                data = json.load(text)["data"]
            for number in (0, 2):
                gradients = data[f"Module.{number}.Linear.parameters_grad.0"]
                self.assertEqual({name: each[0]["dtype"] for name, each in gradients.items()}, {"bias": "torch.float64", "weight": "torch.float64"})

        path = self.enterContext(tempfile.TemporaryDirectory())
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
        with tensorstat.watch(model, path=path) as watch:
            for step in range(2):
                model(torch.ones(3, dtype=torch.float64 if step else torch.float32)).sum().backward()
                watch.step()
                model.zero_grad()
                change(model)
        for step in range(2):  # in backward, and not behind it
            self.assertEqual(sorted(rows_of(path, step, "Gradient")), [(f"{number}.{name}", "input") for number in (0, 2) for name in ("bias", "weight")])

    @unittest.skipUnless(HAS_HOOKS_OF_TENSORS, "this torch has no such hooks")
    def test_hooks_of_the_callers_that_take_the_gradient(self):
        taken = []

        def take(parameter):
            taken.append(parameter.grad.clone())
            parameter.grad = None

        path = self.enterContext(tempfile.TemporaryDirectory())
        model = torch.nn.Linear(3, 3)
        with tensorstat.watch(model, path=path) as watch, tensorstat.watch(model, path=f"{path}/other") as other:
            for step in range(3):
                if step == 1:
                    handles = [each.register_post_accumulate_grad_hook(take) for each in model.parameters()]
                if step == 2:
                    for handle in handles:
                        handle.remove()
                model(torch.ones(3)).sum().backward()
                watch.step()
                other.step()
                self.assertEqual(len(taken), 2 * (step > 0))
                model.zero_grad()
        for folder in (path, f"{path}/other"):
            for step in range(3):
                self.assertEqual(sorted(rows_of(folder, step, "Gradient")), [("bias", "input"), ("weight", "input")])
        for parameter in model.parameters():
            self.assertFalse(parameter._post_accumulate_grad_hooks)

    @unittest.skipUnless(can_fsdp1(), "this torch has no FSDP1, or no such hooks")
    def test_two_ranks_of_fsdp1(self):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, 2, FSDP1, folder)


if __name__ == "__main__":
    logging.getLogger("tensorstat").setLevel(logging.CRITICAL)
    unittest.main()
