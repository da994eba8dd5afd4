"""watch() of FSDP2, tensor parallelism, both, and HSDP, over gloo on 2 and 4 ranks: the rows of the whole are torch's own whole tensors,
and planted faults are named with module, operation and line by one rank alone. Skipped where FSDP2 wants an accelerator."""
import importlib.util
import json
import os
import sys
import tempfile
import unittest

import gloo_ranks
import tensorstat

try:
    import torch
    from torch.distributed.fsdp import fully_shard  # noqa: F401
except (ImportError, ValueError):  # torch 1.13 cannot import it on Python 3.11
    print("this PyTorch has no FSDP2: nothing is tested here", file=sys.stderr)
    sys.exit(0)
if tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (2, 7):
    print("this PyTorch has no FSDP2 on a CPU: nothing is tested here", file=sys.stderr)
    sys.exit(0)

BEGIN = gloo_ranks.BEGIN + """
import csv
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
torch.manual_seed(0)
class Root(nn.Module):
    on = False
    def forward(self, x):
        return torch.sqrt(x * 0) + x if self.on else x  # the root of zero
class Log(nn.Module):
    on = False
    def forward(self, x):
        return torch.log(-x.abs() - 1) if self.on else x  # of a negative
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.log, self.root, self.down = nn.Linear(8, 12), Log(), Root(), nn.Linear(12, 8)
        self.norm = nn.LayerNorm(8)
    def forward(self, x):
        return self.norm(self.down(self.root(self.log(self.up(x)))))
def model_of():  # the same on every rank
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(8, 3))
def tensor_parallel(model, mesh):
    for block in model[:2]:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
def shard(model, mesh, **options):
    for block in model[:2]:
        fully_shard(block, mesh=mesh, **options)
    fully_shard(model, mesh=mesh, **options)
def whole_of(tensor):
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
def train(model, mode, seed=0, steps=2, spoil=None, **options):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.manual_seed(seed)
    wanted, losses = {}, []
    with tensorstat.watch(model, path=folder + mode, optimizer=optimizer, **options) as w:
        for step in range(steps):
            if spoil is not None:
                spoil(step)
            value = model(torch.randn(4, 8)).square().mean()
            value.backward()
            optimizer.step()
            if "shards" in options:
                for name, parameter in model.named_parameters():
                    wanted["Parameter", name] = whole_of(parameter.detach()).clone()
                    wanted["Gradient", name] = whole_of(parameter.grad).clone()
                    for key in ("exp_avg", "exp_avg_sq"):
                        wanted["OptimizerState", f"{name}/{key}"] = whole_of(optimizer.state[parameter][key]).clone()
            w.step(value)
            losses.append(value.item())
            optimizer.zero_grad()
    if "shards" in options and rank == 0:
        with open(f"{folder}{mode}-whole/rank_0/model/0/{steps - 1}/statistic.csv", newline="") as file:
            rows = {(row["Op Type"], row["Op Name"]): row for row in csv.DictReader(file)}
        for key, tensor in wanted.items():
            statistics = tensorstat.measure(tensor, "max,min,l2norm,avg")
            row = rows[key]
            assert [float(row[each]) for each in ("Max Value", "Min Value", "L2Norm Value", "Avg Value")] == [
                statistics.max, statistics.min, statistics.l2norm, statistics.avg], (key, row, statistics)
            assert row["Shape"] == "(" + ",".join(map(str, tensor.shape)) + ")", (key, row)
    assert w.replica_faults == [], w.replica_faults
    assert not [each for each in messages if ("no row" in each or "not watched" in each) and "output_shards" not in each
                and "Partial" not in each], messages
    return w, losses
"""


class Fsdp(unittest.TestCase):
    def run_ranks(self, ranks, script, modes=()):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, ranks, BEGIN + script, folder)
            return {mode: tensorstat.origin(f"{folder}/run{mode}")["verdict"] for mode in modes}

    def test_the_whole_on_two_ranks(self):
        self.run_ranks(2, """
line = init_device_mesh("cpu", (2,))
model = model_of(); shard(model, line); train(model, "fsdp", rank, shards="dtensor")
model = model_of(); tensor_parallel(model, line); train(model, "tp", shards="dtensor")
""")

    def test_the_whole_on_four_ranks(self):
        self.run_ranks(4, """
plane = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
model = model_of(); tensor_parallel(model, plane["tp"]); shard(model, plane["dp"])
train(model, "both", rank // 2, shards="dtensor")
model = model_of(); shard(model, plane); train(model, "hsdp", rank, shards="dtensor")
model = model_of(); shard(model, plane["tp"])  # each pair by itself, with the same data
train(model, "pairs", rank % 2, shards="dtensor")
""")

    def test_sharded_after_the_watch_has_begun(self):
        verdicts = self.run_ranks(2, """
model = model_of()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with tensorstat.watch(model, path=folder + "late") as w:
    shard(model, init_device_mesh("cpu", (2,)))
    for step in range(2):
        model[1].log.on = step == 1
        model(torch.randn(4, 8)).square().mean().backward()
        w.step()
assert [each for each in messages if not each.startswith("first NaN")] == [], messages
assert w.first_fault.op_name == "1.log/forward", w.first_fault
""", ["late"])
        self.assertEqual(verdicts["late"]["op_name"], "1.log/forward")

    def test_faults_are_named(self):
        verdicts = self.run_ranks(2, """
line = init_device_mesh("cpu", (2,))
def log(step): model[1].log.on = step == 1 and rank == 1
def root(step): model[0].root.on = step == 1
model = model_of(); shard(model, line); w, _ = train(model, "fsdp_log", rank, spoil=log)
if rank == 1:
    assert (w.first_fault.op_type, w.first_fault.op_name, w.first_fault.operation) == ("Log", "1.log/forward", "log"), w.first_fault
model = model_of(); shard(model, line); train(model, "fsdp_root", rank, spoil=root)
model = nn.parallel.DistributedDataParallel(model_of())
def root(step): model.module[0].root.on = step == 1
w, _ = train(model, "ddp_root", rank, spoil=root)
model = model_of(); tensor_parallel(model, line)
def log(step): model[1].log.on = step == 1
w, _ = train(model, "tp_log", spoil=log)
assert (w.first_fault.phase, w.first_fault.op_name) == ("forward", "1.log/forward"), w.first_fault
def root(step): model[0].root.on = step == 1
plane = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicas", "shards"))
model = model_of(); shard(model, plane); train(model, "replicated_root", rank, spoil=root)
model = model_of(); shard(model, plane, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32)); train(model, "cast_root", rank, spoil=root)
""", ("fsdp_log", "fsdp_root", "ddp_root", "tp_log", "replicated_root", "cast_root"))
        shown = json.dumps(verdicts, indent=1)
        log, root, ddp, tp, replicated, cast = verdicts.values()
        self.assertEqual((log["kind"], log["op_name"], log["operation"], log["rank"], log["iteration"]), ("produced", "1.log/forward", "log", 1, 1), shown)
        self.assertEqual((tp["kind"], tp["op_name"], tp["operation"]), ("produced", "1.log/forward", "log"), shown)
        self.assertEqual((ddp["kind"], ddp["op_name"], ddp["phase"]), ("produced", "module.0.root/backward", "backward"), shown)
        self.assertIn("Sqrt", ddp["operation"] or "", shown)
        self.assertEqual((replicated["kind"], replicated["op_name"]), ("produced", "0.root/backward"), shown)
        self.assertIn("Sqrt", replicated["operation"] or "", shown)  # each rank has all of the parameters
        self.assertTrue(any("fully_shard casts" in each for each in cast["details"]), shown)
        # No operation: a rank has a part of each parameter, and what it does with a part may need the other rank.
        self.assertEqual((root["op_name"], root["phase"], root["iteration"]), ("0.root/backward", "backward", 1), shown)
        self.assertIn("Not known: NaN began in the backward of 0.root (Root), or between it and 0.log (Log)", root["sentence"], shown)
        self.assertTrue(any("has a DTensor, which may need the other ranks" in each for each in root["details"]), shown)


if __name__ == "__main__":
    unittest.main()
