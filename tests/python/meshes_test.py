"""watch(shards="dtensor") with real DTensors on 4 ranks: the row of the whole has the numbers of the whole, wherever the tensor's mesh
lies among the ranks of the group, and replicas are compared across meshes, too."""
import importlib.util
import tempfile
import unittest

import gloo_ranks

HAS_DTENSOR = bool(importlib.util.find_spec("torch") and importlib.util.find_spec("torch.distributed.tensor"))
BEGIN = gloo_ranks.BEGIN + """
import csv, itertools
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor.placement_types import _StridedShard
line = init_device_mesh("cpu", (4,))
plane = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
cube = init_device_mesh("cpu", (2, 1, 2), mesh_dim_names=("a", "b", "c"))
middle = DeviceMesh("cpu", [1, 2])  # ranks 0 and 3 are outside of it
pairs = [DeviceMesh("cpu", [0, 1]), DeviceMesh("cpu", [2, 3])][rank // 2]
torch.manual_seed(0)
def placed(shape, mesh, *placements):
    whole = torch.randn(shape)
    coordinate, local = mesh.get_coordinate(), whole
    if coordinate is None:
        local = whole.reshape(-1)[:0]
    for dimension, placement in enumerate(placements if coordinate is not None else ()):
        if type(placement) is Shard:
            pieces = list(torch.chunk(local, mesh.size(dimension), placement.dim))
            empty = local.narrow(placement.dim, 0, 0)
            local = (pieces + [empty] * 9)[coordinate[dimension]]
    made = DTensor.from_local(local.clone(), mesh, placements, run_check=False, shape=whole.shape, stride=whole.stride())
    return whole, made
def rows(step):
    with open(f"{folder}-whole/rank_0/model/0/{step}/statistic.csv", newline="") as file:
        return {(row["Op Type"], row["Op Name"]): row for row in csv.DictReader(file)}
def expect(row, tensor):
    statistics = tensorstat.measure(tensor, "max,min,avg,l2norm")
    assert row is not None, statistics
    assert [float(row[each]) for each in ("Max Value", "Min Value", "Avg Value", "L2Norm Value")] == [
        statistics.max, statistics.min, statistics.avg, statistics.l2norm], (row, statistics)
    assert int(row["Data Size"]) == tensor.numel() * 4 and row["Shape"] == "(" + ",".join(map(str, tensor.shape)) + ")", row
class Model(torch.nn.Module):
    def __init__(self, tensors):
        super().__init__()
        for name, (_, made) in tensors.items():
            self.register_parameter(name, torch.nn.Parameter(made))
        self.plain = torch.nn.Linear(2, 2)
    def forward(self, x):
        return self.plain(x)
def flip(parameter):
    local = parameter.to_local().detach()
    local.view(torch.int32).view(-1)[0] ^= 1
"""


@unittest.skipUnless(HAS_DTENSOR, "this PyTorch has no torch.distributed.tensor")
class Meshes(unittest.TestCase):
    def run_ranks(self, script, ranks=4):
        with tempfile.TemporaryDirectory() as folder:
            gloo_ranks.run_ranks(self, ranks, BEGIN + script, folder)

    def test_every_placement(self):
        self.run_ranks("""
tensors = {
    "fsdp": placed((7, 3), plane["dp"], Shard(0)),  # of a mesh with tp, too: each shard lies on two ranks
    "tp": placed((7, 3), plane["tp"], Shard(1)),
    "uneven": placed((5, 2), line, Shard(0)),  # 2, 2, 1 and 0 rows
    "few": placed((2, 2), line, Shard(0)),
    "both": placed((8, 3), plane, Shard(0), Shard(1)),
    "hsdp": placed((8, 4), plane, Replicate(), Shard(0)),
    "cube": placed((6, 2), cube, Shard(0), Replicate(), Replicate()),
    "corner": placed((6,), cube["c"], Replicate()),
    "same": placed((9, 5), line, Replicate()),
    "middle": placed((4, 4), middle, Shard(0)),
    "copies": placed((3, 3), middle, Replicate()),
    "pairs": placed((6, 2), pairs, Shard(0)),
    "sum": placed((3, 2), line, Partial()),
}
strided = placed((8, 3), plane, Shard(0), Shard(0))
tensors["strided"] = strided[0], DTensor.from_local(strided[1].to_local(), plane, (_StridedShard(0, split_factor=2), Shard(0)),
                                                    run_check=False, shape=strided[0].shape, stride=strided[0].stride())
model = Model(tensors)
with torch.no_grad():
    model.plain.weight.fill_(1.5), model.plain.bias.fill_(0)
flipped = ["fsdp", "cube", "corner", "same", "pairs", "hsdp"]
with tensorstat.watch(model, path=folder, shards="dtensor", optimizer=torch.optim.SGD(model.parameters(), lr=0.0)) as w:
    for step in range(3):
        model(torch.ones(1, 2)).sum().backward()
        for name, (whole, made) in tensors.items():
            parameter = getattr(model, name)
            parameter.grad = DTensor.from_local(made.to_local() * 2, made.device_mesh, made.placements, run_check=False,
                                                shape=whole.shape, stride=whole.stride())
        if rank == 3 and step == 1:
            for name in flipped:
                flip(getattr(model, name))
        w.step()
dist.barrier()
if rank == 0:
    for step in (0, 2):
        table = rows(step)
        for name, (whole, _) in tensors.items():
            if name == "sum":
                assert ("Parameter", name) not in table and ("Gradient", name) not in table
                continue
            expect(table.get(("Parameter", name)), whole)
            expect(table.get(("Gradient", name)), whole * 2)
told = {(fault.op_name, fault.iteration, fault.ranks, fault.replicas) for fault in w.replica_faults}
assert told == {("fsdp", 1, (2, 3), 2), ("cube", 1, (2, 3), 2), ("corner", 1, (3,), 4), ("same", 1, (3,), 4), ("pairs", 1, (1, 3), 2),
                ("hsdp", 1, (1, 3), 2)}, told
assert any("sum has the placement Partial" in each for each in messages), messages
assert not [each for each in messages if "not watched" in each or "no row" in each and "Partial" not in each and "output" not in each], messages
""")

    def test_a_group_that_holds_a_part_of_the_mesh(self):
        # The group has ranks 2 and 3 alone: of "hsdp" it holds all, and of "fsdp" half.
        self.run_ranks("""
groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
tensors = {"fsdp": placed((6, 2), line, Shard(0)), "hsdp": placed((6, 2), plane, Replicate(), Shard(0))}
model = Model(tensors)
if rank >= 2:
    with tensorstat.watch(model, path=folder + str(rank // 2), shards="dtensor", group=groups[1], rank=rank - 2) as w:
        model(torch.ones(1, 2))
        w.step()
    if rank == 2:
        folder += "1"
        table = rows(0)
        expect(table.get(("Parameter", "hsdp")), tensors["hsdp"][0])
        assert ("Parameter", "fsdp") not in table
        assert any("fsdp has no row of the whole: it has 12 elements, and the ranks of this group hold 4" in each for each in messages), messages
dist.barrier()
""")

    def test_outputs_on_a_mesh_of_each_batch(self):
        # Data parallel over dp: the tp meshes have outputs of other data, so they are not replicas of each other.
        self.run_ranks("""
class Output(torch.nn.Module):
    def forward(self, x):
        return DTensor.from_local(x, plane["tp"], [Shard(1)], run_check=False), DTensor.from_local(x[:, :1], plane["tp"], [Replicate()], run_check=False)
model = torch.nn.Sequential(Output())
data = torch.arange(24.0).reshape(2, 3, 4)  # of dp rank, row, column
own = data[rank // 2][:, rank % 2 * 2:rank % 2 * 2 + 2]
with tensorstat.watch(model, path=folder, shards="dtensor") as w:
    for step in range(2):
        model(own)
        w.step()
faults = {(each.op_name, each.ranks) for each in w.replica_faults}
assert faults == {("0/forward", (0, 1)), ("0/forward", (2, 3)), ("Sequential/forward", (0, 1)), ("Sequential/forward", (2, 3))}, faults
if rank == 0:
    with open(f"{folder}-whole/rank_0/model/0/1/statistic.csv", newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["Op Name"] == "0/forward" and row["Slot"] == "0"]
    assert float(row["L2Norm Value"]) == tensorstat.measure(data, "l2norm").l2norm and row["Data Size"] == "96", row
""")

    def test_states_of_a_shard(self):
        # An optimizer that keeps plain tensors of its own shard.
        self.run_ranks("""
tensors = {"fsdp": placed((5, 3), plane["dp"], Shard(0))}
model = Model(tensors)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
optimizer.state[model.fsdp]["momentum"] = tensors["fsdp"][1].to_local() * 3
optimizer.state[model.fsdp]["step"] = torch.tensor(4.0)
with tensorstat.watch(model, path=folder, shards="dtensor", optimizer=optimizer) as w:
    model(torch.ones(1, 2))
    w.step()
if rank == 0:
    expect(rows(0).get(("OptimizerState", "fsdp/momentum")), tensors["fsdp"][0] * 3)
assert not [each for each in w.replica_faults if each.op_name != "plain.weight" and each.op_name != "plain.bias"], w.replica_faults
""")


if __name__ == "__main__":
    unittest.main()
