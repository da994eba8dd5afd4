"""The tensors of a watched model that lie in shards or in replicas on several ranks: rows of the whole, and replicas that
differ. stats/doc/ranks.md says what `shards` means."""
import csv
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._hooks import say_fault
from ._library import Error, logger
from ._meter import Partial, fold
from ._ranks import Ranks
from ._tensors import readable

__all__ = ["ReplicaFault"]

_STATISTICS = ("max", "min", "avg", "l2norm", "nan count", "positive inf count", "negative inf count", "zero count")
_HEADER = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")
_FOLDED = (*_STATISTICS, "count")
KINDS = ("dtensor", "tp", "dp")
# (op type, op name, io, tensor or None, name of a parameter, the parameter or None). The tensor lies as the parameter does;
# None: it is a replica.
TensorOfStep = tuple[str, str, str, Any, str, Any]


class ReplicaFault(NamedTuple):
    """A replica that differs from the others: silent data corruption, or a missing synchronisation."""
    iteration: int
    op_type: str  # "Parameter" or "OptimizerState"
    op_name: str
    ranks: tuple[int, ...]  # in the group; where as many agree as differ, all of them
    replicas: int  # how many there are

    def __str__(self) -> str:
        ranks = ", ".join(map(str, self.ranks))
        which = (f"rank {ranks} differs" if len(self.ranks) == 1 else f"ranks {ranks} differ") + " in a bit"
        return f"iteration {self.iteration}, {self.op_type.lower()} {self.op_name}: of {self.replicas} replicas {which}"


class _Part(NamedTuple):
    """What this rank has of a whole tensor."""
    shape: tuple[int, ...] | None  # of the whole; None: not known, so its elements are counted
    tensor: Any  # None: no elements
    shard: int = 0  # of `shards`; ranks of the same shard have replicas of it
    shards: int = 1
    is_replica: bool = False
    is_counted: bool = True  # one of the replicas is


class _Replica(NamedTuple):
    """A replica of this rank, by its xor64."""
    hash: int  # as an int64
    shard: int
    shards: int


class _Row(NamedTuple):
    dtype: Any
    shape: tuple[int, ...] | None


class _Unreduced(Exception):
    """A DTensor is Partial."""


def folder_of_whole(folder: str) -> str:
    """Of the rows of the whole, from the folder of a rank's own: {path}/rank_0/model gives {path}-whole/rank_0/model."""
    rank_folder, name = os.path.split(folder)
    path, rank = os.path.split(rank_folder)
    return os.path.join(f"{path}-whole", rank, name)


class Shards:
    """Merges what the ranks of a group have of each parameter, gradient and optimizer state, at the end of a step."""

    def __init__(self, kind: str | Callable[[str, Any], str], group: Any, folder: str, journal: Any) -> None:
        self._kind, self._folder, self._journal = kind, folder, journal
        self._ranks = group if isinstance(group, Ranks) else Ranks(group)
        self._said: set[str] = set()
        self._different: set[tuple[str, int]] = set()  # replicas, in the last step
        self.faults: list[ReplicaFault] = []

    def step(self, iteration: int, tensors: Callable[[], Iterator[TensorOfStep]], is_stopped: bool) -> None:
        """Every rank calls it in the same steps, also one that is stopped: the others would wait for it."""
        rows: dict[str, _Row] = {}
        replicas: dict[str, _Replica] = {}

        def parts() -> dict[str, Partial]:
            if is_stopped:
                raise Error("its watch is stopped")
            return self._parts(tensors(), rows, replicas)

        try:
            whole = self._ranks.all_reduce(parts)
            self._compare(iteration, whole, replicas)
            if self._ranks.rank == 0:
                self._write(iteration, whole, rows)
        except Error as failure:
            if not is_stopped:
                self._say_once(f"iteration {iteration}: no rows of the whole: {failure}", str(failure))
        except Exception as fault:
            say_fault(fault)

    def _parts(self, tensors: Iterator[TensorOfStep], rows: dict[str, _Row],
               replicas: dict[str, _Replica]) -> dict[str, Partial]:
        torch = sys.modules["torch"]
        parts: dict[str, Partial] = {}
        for op_type, name, io, tensor, parameter_name, parameter in tensors:
            key = f"{op_type}\t{name}\t{io}"
            nothing = readable(torch.empty(0, dtype=(parameter if tensor is None else tensor).dtype))
            try:
                part = self._part(tensor, parameter_name, parameter)
            except _Unreduced:
                self._say_once(f"{op_type.lower()} {name} has the placement Partial: its values are not there before they are "
                               "reduced. It has no row of the whole. Redistribute it first")
                continue
            rows[key] = _Row(nothing.dtype, part.shape)
            local = nothing if part.tensor is None else readable(part.tensor)
            statistics: tuple[str, ...] = _FOLDED
            if part.is_replica and op_type != "Gradient":  # gradients that are accumulated may differ
                statistics = (*_FOLDED, "xor64")
                folded = fold(local, statistics)
                own = int(str(folded.finish().xor64), 16) - 2**63
                replicas[key] = _Replica(own, part.shard, part.shards)
                for shard in range(part.shards):
                    parts[f"{key}\t{shard}"] = _hash_of([own] if shard == part.shard else [], "max,min")
                parts[key] = folded if part.is_counted else fold(nothing, statistics)
            else:
                parts[key] = fold(local if part.is_counted else nothing, statistics)
        return parts

    def _part(self, tensor: Any, name: str, parameter: Any) -> _Part:
        where = parameter if tensor is None else tensor
        shape = tuple(where.shape)
        if hasattr(where, "placements") and hasattr(where, "to_local"):
            return _part_of_dtensor(tensor, where)
        kind = "dp" if parameter is None else self._kind(name, parameter) if callable(self._kind) else self._kind
        if kind == "tp" and not getattr(parameter, "tensor_model_parallel", True):  # Megatron's mark of what is not cut
            kind = "dp"
        if kind in ("tp", "shard"):
            return _Part(None, tensor)
        if kind not in ("dp", "dtensor", "replica"):
            raise Error(f"shards gave {kind!r} for {name}; it is \"shard\" or \"replica\"")
        return _Part(shape, tensor, is_replica=True, is_counted=self._ranks.rank == 0)

    def _compare(self, iteration: int, whole: dict[str, Partial], replicas: dict[str, _Replica]) -> None:
        different = []
        for key, own in replicas.items():
            for shard in range(own.shards):
                values = whole.pop(f"{key}\t{shard}").finish()
                if values.max != values.min:
                    different.append((key, shard))
        before, self._different = self._different, set(different)
        different = [each for each in different if each not in before]
        if not different:
            return
        # Which rank it is: once more, only in a step with a fault, and on all ranks alike.
        size = self._ranks.size
        hashes = self._ranks.others().all_reduce({
            f"{key}\t{shard}\t{rank}": _hash_of(
                [replicas[key].hash] if rank == self._ranks.rank and shard == replicas[key].shard else [], "max")
            for key, shard in different for rank in range(size)})
        for key, shard in different:
            op_type, name, _ = key.split("\t")
            of_ranks = {rank: hashes[f"{key}\t{shard}\t{rank}"].finish().max for rank in range(size)}
            found = {rank: value for rank, value in of_ranks.items() if value is not None}
            counts = Counter(found.values()).most_common()
            is_majority = counts[0][1] > counts[1][1]
            ranks = tuple(rank for rank, value in found.items() if not is_majority or value != counts[0][0])
            fault = ReplicaFault(iteration, op_type, name, ranks, len(found))
            self.faults.append(fault)
            self._journal.say("replica", **fault._asdict())
            logger.warning("%s", fault)
        self._journal.flush()

    def _write(self, iteration: int, whole: dict[str, Partial], rows: dict[str, _Row]) -> None:
        lines = []
        for key, row in rows.items():
            values = whole[key].finish()
            op_type, name, io = key.split("\t")
            if values.count == 0 and (row.shape is None or 0 not in row.shape):
                continue  # a gradient that no rank has
            shape = (values.count,) if row.shape is None else row.shape
            size = values.count * sys.modules["torch"].empty(0, dtype=row.dtype).element_size()
            lines.append([op_type, name, 0, 0, time.time_ns() // 1000, io, 0, size, str(row.dtype).removeprefix("torch."),
                          "(" + ",".join(map(str, shape)) + ")", *(_text(values[each]) for each in _STATISTICS)])
        folder = os.path.join(self._folder, "0", str(iteration))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "statistic.csv")
        with open(f"{path}.new", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([_HEADER, *lines])
        os.replace(f"{path}.new", path)

    def _say_once(self, words: str, key: str = "") -> None:
        if (key or words) not in self._said:
            self._said.add(key or words)
            logger.warning("%s", words)


def _part_of_dtensor(tensor: Any, where: Any) -> _Part:
    """Of a mesh of any dimensions: cut along some, and the same along the others."""
    coordinates = where.device_mesh.get_coordinate()
    shard, shards, is_replica, is_counted = 0, 1, False, True
    for dimension, placement in enumerate(where.placements):
        if placement.is_partial():
            raise _Unreduced
        size = where.device_mesh.size(dimension)
        own = coordinates[dimension] if coordinates is not None else 0
        if placement.is_shard():
            shard, shards = shard * size + own, shards * size
        else:
            is_replica = is_replica or size > 1
            is_counted = is_counted and own == 0
    local = tensor.to_local() if tensor is not None and coordinates is not None else None
    return _Part(tuple(where.shape), local, shard, shards, is_replica, is_counted)


def _hash_of(values: list[int], statistics: str) -> Partial:
    """The greatest and the least of the ranks' hashes are those of a tensor that has one element on each."""
    return fold(sys.modules["torch"].tensor(values, dtype=sys.modules["torch"].int64), statistics)


def _text(value: Any) -> str:
    """As the session writes it: the shortest digits that read back as the same number."""
    return "" if value is None else repr(value).removesuffix(".0")
