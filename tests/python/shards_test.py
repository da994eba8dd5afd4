"""watch(shards=...): rows of whole tensors on rank 0 with the bits of one process, in two collectives a step; a replica with
one flipped bit is told in its step; nobody waits for a rank that has an error. Real processes over gloo."""
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import unittest

import gloo_ranks

BEGIN = gloo_ranks.BEGIN + """
import csv, glob
collectives = []
reduce = dist.all_reduce
def counted(*arguments, **keywords):
    collectives.append(1)
    return reduce(*arguments, **keywords)
def rows(step):
    with open(f"{folder}-whole/rank_0/model/0/{step}/statistic.csv", newline="") as file:
        return {(row["Op Type"], row["Op Name"]): row for row in csv.DictReader(file)}
def of_all(tensor):  # what the ranks have of the same shape, one after another
    parts = [torch.zeros_like(tensor) for _ in range(ranks)]
    dist.all_gather(parts, tensor.contiguous())
    return torch.cat(parts)
def expect(row, tensor):
    statistics = tensorstat.measure(tensor, "max,min,avg,l2norm,nan count,zero count,count")
    for name, column in (("max", "Max Value"), ("min", "Min Value"), ("avg", "Avg Value"), ("l2norm", "L2Norm Value"),
                         ("nan count", "NaN Count"), ("zero count", "Zero Count")):
        assert float(row[column]) == statistics[name], (name, row, statistics)
    assert int(row["Data Size"]) == tensor.numel() * tensor.element_size(), row
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Shards(unittest.TestCase):
    def run_ranks(self, ranks, script):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, ranks, BEGIN + script, folder)

    def test_a_flipped_bit_of_a_replica_is_told_in_its_step(self):
        script = """
torch.manual_seed(3)
model = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.Tanh(), torch.nn.Linear(9, 1))
optimizer = torch.optim.Adam(model.parameters())
torch.manual_seed(rank)  # each rank has data of its own
outputs = []
model[1].register_forward_hook(lambda module, given, output: outputs.append(output.detach().clone()))
with tensorstat.watch(model, path=folder, optimizer=optimizer, shards="dp") as w:
    for step in range(6):
        model(torch.randn(4, 6)).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= ranks
        optimizer.step()
        if step == 3 and rank == 1:
            bits = model[2].weight.data.view(torch.int32)
            bits[0, 4] ^= 1
        weight, gradient = model[0].weight.detach().clone(), model[0].weight.grad.clone()
        dist.all_reduce, collectives[:] = counted, []
        w.step()
        dist.all_reduce = reduce
        # 0: the outputs are agreed on. 1: they are in the list. 3: three more, to know the rank.
        assert len(collectives) == {0: 8, 1: 3, 3: 5}.get(step, 2), (step, collectives)
        output = of_all(outputs[-1])
        optimizer.zero_grad()
        told = [(each.iteration, each.op_type, each.op_name, each.ranks, each.replicas) for each in w.replica_faults]
        if step < 3:
            assert told == [], told
        elif step == 3:
            assert told == [(3, "Parameter", "2.weight", (1,) if ranks > 2 else (0, 1), ranks)], told
            assert any("iteration 3, parameter 2.weight" in each and f"of {ranks} replicas" in each for each in messages), messages
        if rank == 0:
            table = rows(step)
            expect(table["Parameter", "0.weight"], weight)
            expect(table["Gradient", "0.weight"], gradient)
            expect(table["Tanh", "1/forward"], output)
            assert table["Tanh", "1/forward"]["Shape"] == f"({9 * 4 * ranks})"
            assert table["Parameter", "0.weight"]["Shape"] == "(9,6)"
            assert ("OptimizerState", "2.bias/exp_avg") in table
        dist.barrier()
assert os.path.exists(f"{folder}/rank_{rank}/model/0/5/statistic.csv")  # its own rows
assert '"replica"' in open(f"{folder}/rank_{rank}/model/watch.ndjson").read()
dist.barrier()
for path in (folder, f"{folder}-whole"):
    findings = tensorstat.findings(path)
    assert [(each.rule, each.op_name, each.rank, each.first_iteration) for each in findings][:1] == [
        ("replica", "2.weight", 1 if ranks > 2 else 0, 3)], list(findings)
    assert findings[0].text.startswith(
        f"parameter 2.weight: of {ranks} replicas rank" + (" 1 differs" if ranks > 2 else "s 0, 1 differ")), findings[0]
    assert "ranks" not in [each.rule for each in findings if each.op_name == "2.weight"], list(findings)
"""
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.run_ranks(ranks, script)

    def test_parameters_that_cannot_be_read_cost_no_others(self):
        self.run_ranks(2, """
torch.manual_seed(3)
model = torch.nn.Linear(3, 3)
model.away = torch.nn.Parameter(torch.ones(2, device="meta"))
model.lazy = torch.nn.parameter.UninitializedParameter()
model.nested = torch.nn.Parameter(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), requires_grad=False)
with tensorstat.watch(model, path=folder, shards="dp") as w:
    for step in range(3):
        model(torch.ones(2, 3)).sum().backward()
        if step == 2 and rank == 1:
            model.weight.data.view(torch.int32)[0, 1] ^= 1
        w.step()
        if rank == 0:
            assert ("Parameter", "weight") in rows(step) and ("Gradient", "bias") in rows(step), (step, rows(step))
    assert [(each.iteration, each.op_name) for each in w.replica_faults] == [(2, "weight")], w.replica_faults
told = [each for each in messages if "has no row of the whole" in each]
assert len(told) == 2 and "away" in told[0] and "nested" in told[1], messages
assert not [each for each in messages if "no rows of the whole" in each or "not watched here" in each], messages
dist.destroy_process_group()
""")

    def test_a_sharded_matmul(self):
        self.run_ranks(3, """
torch.manual_seed(3)
whole = torch.randn(12, 5)  # of y = x W^T + b, cut into columns of y
class Sharded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(whole[rank * 4:rank * 4 + 4].clone())
        self.bias = torch.nn.Parameter(torch.zeros(12))
    def forward(self, x):
        own = x @ self.weight.T
        parts = [torch.zeros_like(own) for _ in range(ranks)]
        dist.all_gather(parts, own.detach())
        parts[rank] = own
        return torch.cat(parts, 1) + self.bias
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Sharded()
    def forward(self, x):
        return self.layer(x)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
cut = lambda name, parameter: "shard" if name.endswith("weight") else "replica"
with tensorstat.watch(model, path=folder, optimizer=optimizer, shards=cut, output_shards="replica") as w:
    for step in range(3):
        x = torch.ones(2, 5) * (step + 1)
        y = model(x)
        y.square().mean().backward()
        optimizer.step()
        shards = [torch.zeros(4, 5) for _ in range(ranks)]
        dist.all_gather(shards, model.layer.weight.detach())
        w.step()
        optimizer.zero_grad()
        if rank == 0:
            table = rows(step)
            expect(table["Parameter", "layer.weight"], torch.cat(shards))
            expect(table["Parameter", "layer.bias"], model.layer.bias.detach())
            expect(table["Sharded", "layer/forward"], y.detach())
            assert table["Sharded", "layer/forward"]["Shape"] == "(2,12)"
            assert table["Parameter", "layer.weight"]["Shape"] == "(60)"
            assert table["OptimizerState", "layer.weight/momentum_buffer"]["Shape"] == "(60)"
        dist.barrier()
assert w.replica_faults == [], w.replica_faults
assert messages == [], messages
""")

    def test_outputs_that_not_every_rank_has(self):
        # Rank 1 calls the expert a, rank 2 twice; rank 0 does so in step 2 for the first time, with another dtype.
        self.run_ranks(3, """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.relu = torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True)
    def forward(self, x, calls):
        for _ in range(calls):
            x = self.relu(self.a(x))  # written over by the module behind it
        return x
torch.manual_seed(1)
model = Model()
seen = []
model.a.register_forward_hook(lambda module, given, output: seen.append(output.detach().clone()))
with tensorstat.watch(model, path=folder, shards="dp") as w:
    for step in range(5):
        seen.clear()
        calls = rank if step < 2 else 1
        x = torch.full((rank + 1, 2), rank - 0.5 + step)
        if step == 2 and rank == 0:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                model(x, calls)
        else:
            model(x, calls)
        every = [None] * ranks
        dist.all_gather_object(every, list(seen))
        dist.all_reduce, collectives[:] = counted, []
        w.step()
        dist.all_reduce = reduce
        # 0: the first outputs; 1: the same list, which is new; 2: other outputs; 3: the list is new
        assert len(collectives) == {0: 8, 1: 3, 2: 7, 3: 3}.get(step, 2), (step, collectives)
        if rank == 0:
            with open(f"{folder}-whole/rank_0/model/0/{step}/statistic.csv", newline="") as file:
                records = [row for row in csv.DictReader(file) if row["Op Name"] == "a/forward"]
            by_dtype = {}
            for one in every:
                for call, tensor in enumerate(one):
                    by_dtype.setdefault((call, tensor.dtype), []).append(tensor.reshape(-1))
            expected = [torch.cat(each) for each in by_dtype.values()]
            assert len(records) == len(expected), (records, expected)
            for tensor in expected:
                (row,) = [row for row in records if row["Data Type"] == str(tensor.dtype)[6:] and row["Shape"] == f"({tensor.numel()})"
                          and float(row["Max Value"]) == tensor.float().max().item()]
                expect(row, tensor)
        dist.barrier()
assert messages == [], messages
assert w.replica_faults == []
""")

    def test_megatrons_mark(self):
        self.run_ranks(2, """
model = torch.nn.Linear(3, 2)
with torch.no_grad():
    model.weight.copy_(torch.full((2, 3), float(rank)))
    model.bias.fill_(0.5)
model.weight.tensor_model_parallel, model.bias.tensor_model_parallel = True, False
with tensorstat.watch(model, path=folder, shards="tp") as w:
    for step in range(2):
        model(torch.ones(1, 3)).sum().backward()
        w.step()
assert len(messages) == 1 and "outputs of modules have no rows of the whole" in messages[0] and "output_shards says it" in messages[0], messages
if rank == 0:
    expect(rows(0)["Parameter", "weight"], torch.tensor([0.0] * 6 + [1.0] * 6))
    expect(rows(0)["Parameter", "bias"], torch.tensor([0.5, 0.5]))
    assert not [each for each in rows(1) if each[1].endswith("/forward")]
""")

    def test_placements_of_dtensor(self):
        # A stand-in with what is asked of a DTensor: torch 1.13 has none, and test_dtensor is skipped there. A mesh of 2 x 2
        # cuts and replicates.
        self.run_ranks(4, """
import types
class Placement:
    def __init__(self, kind): self.kind = kind
    def is_shard(self): return self.kind == "shard"
    def is_replicate(self): return self.kind == "replicate"
    def is_partial(self): return self.kind == "partial"
class Mesh:
    mesh = torch.arange(4).reshape(2, 2)
    def get_coordinate(self): return [rank // 2, rank % 2]
    def size(self, dimension=None): return 4 if dimension is None else 2
class Parameter(torch.nn.Parameter):
    def to_local(self): return self.data
    @property
    def shape(self): return torch.Size(self.whole)
class Output(torch.Tensor):
    def to_local(self): return self.local
    def data_ptr(self): return 0
    @property
    def shape(self): return torch.Size(self.whole)
def placed(made, kinds, whole):
    made.placements, made.device_mesh, made.whole = [Placement(each) for each in kinds], Mesh(), whole
    return made
def of(local, kinds, whole, coordinates=None):
    made = placed(Parameter(local), kinds, whole)
    if coordinates is not None:
        made.device_mesh = types.SimpleNamespace(get_coordinate=lambda: coordinates[rank], size=lambda dimension: 2)
    return made
def output_of(local, kinds, whole):
    made = placed(local.as_subclass(Output), kinds, whole)
    made.local = local
    return made
torch.manual_seed(5)
whole = torch.randn(8, 3)
model = torch.nn.Linear(3, 8)
own = of(whole[rank % 2 * 4:rank % 2 * 4 + 4].clone(), ("replicate", "shard"), (8, 3))
other = of(whole[rank * 2:rank * 2 + 2].clone(), ("shard", "shard"), (8, 3))
unreduced = of(whole.clone(), ("replicate", "partial"), (8, 3))
# One dimension of the mesh: every shard has a replica on another mesh. And a mesh of two ranks; the others hold nothing.
sub = of(whole[rank // 2 * 4:rank // 2 * 4 + 4].clone(), ("shard",), (8, 3), [[0], [0], [1], [1]])
alone = of(whole[4:] if rank == 3 else whole[:4] if rank == 1 else whole[:0], ("shard",), (8, 3), [None, [0], None, [1]])
part = of(whole[:4] if rank == 1 else whole[:0], ("shard",), (8, 3), [None, [0], None, None])
class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.other, self.unreduced, self.plain = own, other, unreduced, torch.nn.Parameter(torch.ones(3))
        self.sub, self.alone, self.lacking = sub, alone, part
        self.part, self.cut, self.sums = Part(), Part(), Part()
    def forward(self, x):
        self.part(output_of(own.data * 2, ("replicate", "shard"), (8, 3)))
        self.cut(output_of(other.data * 3, ("shard", "shard"), (8, 3)))
        self.sums(output_of(whole.clone(), ("replicate", "partial"), (8, 3)))
        return x + self.plain
class Part(torch.nn.Module):
    def forward(self, x):
        return x
model = Holder()
with tensorstat.watch(model, path=folder, shards="dtensor", gradients=False, parameters=False) as w:
    for step in range(3):
        model(torch.ones(3)).sum().backward()
        if step == 1 and rank == 3:
            own.data.view(torch.int32)[0, 0] ^= 1 << 20
            sub.data.view(torch.int32)[0, 0] ^= 1 << 20
        w.step()
told = [(each.iteration, each.op_name, each.ranks, each.replicas) for each in w.replica_faults]
assert told == [(1, "own", (1, 3), 2), (1, "sub", (2, 3), 2), (2, "part/forward", (1, 3), 2)], told
if rank == 0:
    assert any("Parameter lacking has no row of the whole: it has 24 elements, and the ranks of this group hold 12" in each
               for each in messages), messages
assert any("unreduced has the placement Partial" in each for each in messages), messages
assert any("output 0 of sums/forward has the placement Partial" in each for each in messages), messages
with open(f"{folder}/rank_{rank}/model/0/0/statistic.csv", newline="") as file:  # its own rows are of its own shard
    own_rows = {row["Op Name"]: row for row in csv.DictReader(file) if row["IO"] == "output"}
assert own_rows["cut/forward"]["Shape"] == "(2,3)", own_rows
assert float(own_rows["cut/forward"]["Max Value"]) == (whole[rank * 2:rank * 2 + 2] * 3).max().item()
if rank == 0:
    table = rows(0)
    assert ("Parameter", "lacking") not in table
    for name in ("own", "other", "sub", "alone"):
        expect(table["Parameter", name], whole)
        assert table["Parameter", name]["Shape"] == "(8,3)"
    expect(table["Parameter", "plain"], torch.ones(3))
    expect(table["Part", "part/forward"], whole * 2)
    expect(table["Part", "cut/forward"], whole * 3)
    assert table["Part", "part/forward"]["Shape"] == table["Part", "cut/forward"]["Shape"] == "(24)"
    assert ("Parameter", "unreduced") not in table and ("Part", "sums/forward") not in table
""")

    @unittest.skipUnless(importlib.util.find_spec("torch.distributed.tensor") if importlib.util.find_spec("torch") else None,
                         "this PyTorch has no torch.distributed.tensor")
    def test_dtensor(self):
        self.run_ranks(2, """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
torch.manual_seed(5)
mesh, whole = init_device_mesh("cpu", (ranks,)), torch.randn(7, 3)
model = torch.nn.Linear(3, 7)
model.weight = torch.nn.Parameter(distribute_tensor(whole, mesh, [Shard(0)]))
model.bias = torch.nn.Parameter(distribute_tensor(torch.ones(7), mesh, [Replicate()]))
with tensorstat.watch(model, path=folder, shards="dtensor") as w:
    model(distribute_tensor(torch.ones(2, 3), mesh, [Replicate()])).sum().backward()
    w.step()
assert w.replica_faults == []
if rank == 0:
    expect(rows(0)["Parameter", "weight"], whole)
""")

    def test_an_error_is_told_and_nobody_waits(self):
        self.run_ranks(2, """
torch.manual_seed(3)
model = torch.nn.Linear(3, 2)
if rank == 1:
    model.register_parameter("more", torch.nn.Parameter(torch.ones(1)))
with tensorstat.watch(model, path=folder, shards="dp") as w:
    for step in range(4):
        if step == 1 and rank == 1:
            w.stop()
        if step == 2 and rank == 1:
            w.start()
            del model._parameters["more"]
            w._parameters.named[:] = [each for each in w._parameters.named if each[0] != "more"]
        model(torch.ones(1, 3)).sum().backward()
        w.step()
        dist.barrier()
        assert os.path.exists(f"{folder}-whole/rank_0/model/0/{step}") == (step >= 2), step
assert any("iteration 0: no rows of the whole" in each and "the same list" in each for each in messages), messages
if rank == 0:
    assert any("iteration 1: no rows of the whole" in each and "rank 1 failed" in each and "is stopped" in each for each in messages), messages
""")

    def test_the_example(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
            free.close()
            example = os.path.join(os.path.dirname(__file__), "../../stats/examples/replicas.py")
            process = subprocess.run([sys.executable, example, os.path.join(folder, "run"), str(port)], capture_output=True, text=True,
                                     env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=300)
            self.assertEqual((process.returncode, process.stdout),
                             (0, "iteration 2, parameter 2.weight: of 2 replicas ranks 0, 1 differ in a bit\n"), process.stderr)
            ran = subprocess.run([os.environ["COMMAND"], "report", os.path.join(folder, "run")], capture_output=True, text=True)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn("Parameter 2.weight: of 2 replicas ranks 0, 1 differ in a bit since iteration 2", ran.stdout)
            self.assertIn("error    replica   iteration 2, rank 0: parameter 2.weight", ran.stdout)

    def test_words(self):
        import torch
        import tensorstat
        model = torch.nn.Linear(2, 2)
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(ValueError, 'shards is \'fsdp\'; it is "dtensor"'):
                tensorstat.watch(model, path=folder, shards="fsdp")
            with self.assertRaisesRegex(ValueError, "give shards, too"):
                tensorstat.watch(model, path=folder, group=object())
            with self.assertRaisesRegex(ValueError, "give shards, too"):
                tensorstat.watch(model, path=folder, output_shards="shard")
            with self.assertRaisesRegex(ValueError, 'output_shards is \'dp\'; it is "shard", "replica"'):
                tensorstat.watch(model, path=folder, shards="tp", output_shards="dp")
            with self.assertRaisesRegex(tensorstat.Error, "no ranks are known"):
                tensorstat.watch(model, path=folder, shards="dp")


if __name__ == "__main__":
    unittest.main()
