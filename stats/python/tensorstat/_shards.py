"""The tensors of a watched model that lie in shards or in replicas on several ranks: rows of the whole, and replicas that
differ. stats/doc/ranks.md says what `shards` and `output_shards` mean."""
import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._hooks import say_fault
from ._journal import Journal
from ._library import Error, logger
from ._meter import Partial, fold
from ._ranks import Ranks
from ._replicas import ReplicaFault, ranks_that_differ
from ._tensors import is_dtensor, readable

_STATISTICS = ("max", "min", "avg", "l2norm", "nan count", "positive inf count", "negative inf count", "zero count")
_HEADER = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")
_FOLDED = (*_STATISTICS, "count")
KINDS = ("dtensor", "tp", "dp")
# (op type, op name, tensor or None, name of a parameter, the parameter or None). The tensor lies as the parameter does;
# None: it is a replica.
TensorOfStep = tuple[str, str, Any, str, Any]
How = str | Callable[[str, Any], str | None] | None


class _Part(NamedTuple):
    """What this rank has of a whole tensor."""
    shape: tuple[int, ...] | None  # of the whole; None: not known, so its elements are counted
    tensor: Any  # None: no elements
    shard: int = 0  # of `shards`; ranks of the same shard have replicas of it
    shards: int = 1
    is_replica: bool = False
    is_counted: bool = True  # one of the replicas is


class _Whole(NamedTuple):
    """A whole tensor: the same on every rank."""
    op_type: str
    op_name: str
    dtype: str  # torch's name of what is folded
    slot: int = 0
    call: int = 0  # of the module, in this step
    compared: int = 0  # so many shards have replicas that are compared


class _Own(NamedTuple):
    """What a rank has of it."""
    folded: Partial  # with no elements where another rank counts its replica
    shape: tuple[int, ...] | None
    shard: int
    hash: int | None  # of a replica that is compared: its xor64, as an int64


class _Unreduced(Exception):
    """A DTensor is Partial."""


_NEW_OUTPUTS = "new outputs"  # the key of their number


def folder_of_whole(folder: str) -> str:
    """Of the rows of the whole, from the folder of a rank's own: {path}/rank_0/model gives {path}-whole/rank_0/model."""
    rank_folder, name = os.path.split(folder)
    path, rank = os.path.split(rank_folder)
    return os.path.join(f"{path}-whole", rank, name)


class Shards:
    """Merges what the ranks of a group have of each output, parameter, gradient and optimizer state, at the end of a step, and
    compares replicas. Without a folder it only compares parameters and states."""

    def __init__(self, kind: str | Callable[[str, Any], str], outputs: How, group: Any, folder: str | None, journal: Journal,
                 run: dict[str, Any]) -> None:
        self._kind, self._folder = kind, folder
        self._kind_of_outputs: How = "shard" if outputs is None and kind == "dp" else outputs
        self._ranks = group if isinstance(group, Ranks) else Ranks(group)
        self._ranks_of_new = self._ranks.others()
        self._journals = [journal]
        if self._ranks.rank == 0 and folder is not None:
            self._journals.append(Journal(os.path.join(folder, "watch.ndjson")))
            self._journals[1].say("run", **{**run, "world_size": 1, "parameters": True})
        self._said: set[str] = set()
        self._outputs: dict[_Whole, _Own] = {}  # of this step
        self._calls: dict[str, int] = {}
        self._known: dict[_Whole, None] = {}  # outputs of any rank, in the same order on every rank
        self._different: dict[tuple[_Whole, int], str] = {}  # replicas in the last step, in words
        self.compared: dict[tuple[str, str], str] = {}  # op type and name: in words how they differ; "": they do not
        self.faults: list[ReplicaFault] = []

    def saw(self, op_type: str, name: str, outputs: list[Any]) -> None:
        """A module gave these. They are folded now: the next module may write into them."""
        call = self._calls[name] = self._calls.get(name, -1) + 1
        for slot, tensor in enumerate(outputs):
            try:
                part = self._part_of_output(name, tensor)
                if part is not None:
                    whole, own = self._folded(op_type, name, part, tensor, slot, call)
                    self._outputs[whole] = own
            except _Unreduced:
                self._say_unreduced(f"output {slot} of {name}")
            except Exception as fault:
                self._say_once(f"output {slot} of {name} has no row of the whole: {fault}", name)

    def step(self, iteration: int, tensors: Callable[[], Iterator[TensorOfStep]], is_stopped: bool) -> None:
        """Every rank calls it in the same steps, also one that is stopped: the others would wait for it."""
        every: dict[_Whole, _Own | None] = {}
        new = [whole for whole in self._outputs if whole not in self._known]
        self.compared.clear()

        def parts() -> dict[Any, Partial]:
            if is_stopped:
                raise Error("its watch is stopped")
            every.update((whole, self._outputs.get(whole)) for whole in self._known)
            self._add_tensors(tensors(), every)
            return {_NEW_OUTPUTS: _of_numbers([len(new)], "max"), **self._parts_of(every)}

        try:
            merged = self._ranks.all_reduce(parts)
            if merged[_NEW_OUTPUTS].finish().max > 0:  # a rank has outputs that no rank had before: all learn of them
                of_new = dict.fromkeys(_Whole(*each) for text in self._ranks.gather(json.dumps(new)) for each in json.loads(text))
                every.update((whole, self._outputs.get(whole)) for whole in of_new)
                self._known.update(of_new)
                merged.update(self._ranks_of_new.all_reduce(lambda: self._parts_of({whole: every[whole] for whole in of_new})))
            self._compare(iteration, merged, every)
            if self._ranks.rank == 0 and self._folder is not None:
                self._write(iteration, merged, every)
        except Error as failure:
            if not is_stopped:
                what = "no rows of the whole" if self._folder is not None else "replicas are not compared"
                self._say_once(f"iteration {iteration}: {what}: {failure}", str(failure))
        except Exception as fault:
            say_fault(fault)
        for journal in self._journals:
            journal.flush()
        self._outputs.clear()
        self._calls.clear()

    def _add_tensors(self, tensors: Iterator[TensorOfStep], every: dict[_Whole, _Own | None]) -> None:
        for op_type, name, tensor, parameter_name, parameter in tensors:
            if self._folder is None and op_type == "Gradient":
                continue
            try:
                part = self._part(tensor, parameter_name, parameter)
            except _Unreduced:
                self._say_unreduced(f"{op_type.lower()} {name}")
                continue
            # Gradients that are accumulated may differ.
            whole, own = self._folded(op_type, name, part, parameter if tensor is None else tensor,
                                      is_compared=op_type != "Gradient")
            if self._folder is not None or whole.compared:
                every[whole] = own

    def _folded(self, op_type: str, name: str, part: _Part, like: Any, slot: int = 0, call: int = 0,
                is_compared: bool = True) -> tuple[_Whole, _Own]:
        nothing = readable(sys.modules["torch"].empty(0, dtype=like.dtype))
        local = nothing if part.tensor is None else readable(part.tensor)
        is_compared = is_compared and part.is_replica
        whole = _Whole(op_type, name, str(local.dtype), slot, call, part.shards if is_compared else 0)
        if not is_compared:
            return whole, _Own(fold(local if part.is_counted else nothing, _FOLDED), part.shape, 0, None)
        folded = fold(local, (*_FOLDED, "xor64") if self._folder is not None else ("xor64",))
        own = int(str(folded.finish().xor64), 16) - 2**63
        return whole, _Own(folded if part.is_counted else _nothing_of(whole), part.shape, part.shard, own)

    def _parts_of(self, every: dict[_Whole, _Own | None]) -> dict[Any, Partial]:
        """What this rank gives: of each tensor what is counted here, and the hashes of its replicas."""
        parts: dict[Any, Partial] = {}
        for whole, own in every.items():
            if self._folder is not None:
                parts[whole] = _nothing_of(whole) if own is None else own.folded
            for shard in range(whole.compared):
                parts[whole, shard] = _of_numbers(_hashes(own, shard), "max,min")
        return parts

    def _part(self, tensor: Any, name: str, parameter: Any) -> _Part:
        where = parameter if tensor is None else tensor
        if is_dtensor(where):
            return _part_of_dtensor(tensor, where)
        kind = "dp" if parameter is None else self._kind(name, parameter) if callable(self._kind) else self._kind
        if kind == "tp" and not getattr(parameter, "tensor_model_parallel", True):  # Megatron's mark of what is not cut
            kind = "dp"
        if kind in ("tp", "shard"):
            return _Part(None, tensor)
        if kind not in ("dp", "dtensor", "replica"):
            raise Error(f"shards gave {kind!r} for {name}; it is \"shard\" or \"replica\"")
        return self._replica(tensor, where)

    def _part_of_output(self, name: str, tensor: Any) -> _Part | None:
        if is_dtensor(tensor):
            return _part_of_dtensor(tensor, tensor)
        kind = self._kind_of_outputs
        if kind is None:
            self._say_once("outputs of modules have no rows of the whole: this `shards` does not say how they lie on the ranks. "
                           "output_shards says it", "output_shards")
            return None
        kind = kind(name, tensor) if callable(kind) else kind
        if kind is None:
            return None
        if kind not in ("shard", "replica"):
            raise Error(f"output_shards gave {kind!r}; it is \"shard\", \"replica\" or None")
        return _Part(None, tensor) if kind == "shard" else self._replica(tensor, tensor)

    def _replica(self, tensor: Any, where: Any) -> _Part:
        return _Part(tuple(where.shape), tensor, is_replica=True, is_counted=self._ranks.rank == 0)

    def _compare(self, iteration: int, merged: dict[Any, Partial], every: dict[_Whole, _Own | None]) -> None:
        before, self._different = self._different, {}
        for whole in every:
            for shard in range(whole.compared):
                values = merged[whole, shard].finish()
                if values.max != values.min:
                    self._different[whole, shard] = before.get((whole, shard), "")
        if different := [each for each in self._different if each not in before]:
            self._find_ranks(iteration, different, every)
        for whole, own in every.items():
            if whole.compared and own is not None:
                self.compared[whole.op_type, whole.op_name] = self._different.get((whole, own.shard), "")

    def _find_ranks(self, iteration: int, different: list[tuple[_Whole, int]], every: dict[_Whole, _Own | None]) -> None:
        # Which rank it is: once more, only in a step with a fault, and on all ranks alike.
        size = self._ranks.size
        hashes = self._ranks.others().all_reduce({
            (whole, shard, rank): _of_numbers(_hashes(every[whole], shard) if rank == self._ranks.rank else [], "max")
            for whole, shard in different for rank in range(size)})
        for whole, shard in different:
            of_ranks = {rank: hashes[whole, shard, rank].finish().max for rank in range(size)}
            found = {rank: value for rank, value in of_ranks.items() if value is not None}
            fault = ReplicaFault(iteration, whole.op_type, whole.op_name, ranks_that_differ(found), len(found))
            self.faults.append(fault)
            self._different[whole, shard] = fault.words
            for journal in self._journals:
                journal.say("replica", **fault._asdict())
            logger.warning("%s", fault)

    def _write(self, iteration: int, merged: dict[Any, Partial], every: dict[_Whole, _Own | None]) -> None:
        lines = []
        # Outputs first, in the order in which this rank had them, and what it had not behind them.
        for whole in [*self._outputs, *(each for each in every if each not in self._outputs)]:
            own, values = every[whole], merged[whole].finish()
            shape = None if own is None else own.shape
            if values.count == 0 and (shape is None or 0 not in shape):
                continue  # a gradient that no rank has
            shape = (values.count,) if shape is None else shape
            size = values.count * _empty(whole).element_size()
            lines.append([whole.op_type, whole.op_name, 0, 0, time.time_ns() // 1000, "output", whole.slot, size,
                          whole.dtype.removeprefix("torch."), "(" + ",".join(map(str, shape)) + ")",
                          *(_text(values[each]) for each in _STATISTICS)])
        assert self._folder is not None
        folder = os.path.join(self._folder, "0", str(iteration))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "statistic.csv")
        with open(f"{path}.new", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([_HEADER, *lines])
        os.replace(f"{path}.new", path)

    def _say_unreduced(self, who: str) -> None:
        self._say_once(f"{who} has the placement Partial: its values are not there before they are reduced. It has no row of "
                       "the whole. Redistribute it first")

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


def _hashes(own: _Own | None, shard: int) -> list[int]:
    return [own.hash] if own is not None and own.hash is not None and own.shard == shard else []


def _empty(whole: _Whole) -> Any:
    torch = sys.modules["torch"]
    return torch.empty(0, dtype=getattr(torch, whole.dtype.removeprefix("torch.")))


def _nothing_of(whole: _Whole) -> Partial:
    return fold(_empty(whole), (*_FOLDED, "xor64") if whole.compared else _FOLDED)


def _of_numbers(numbers: list[int], statistics: str) -> Partial:
    """The greatest and the least of the ranks' numbers are those of a tensor that has one element on each."""
    return fold(sys.modules["torch"].tensor(numbers, dtype=sys.modules["torch"].int64), statistics)


def _text(value: Any) -> str:
    """As the session writes it: the shortest digits that read back as the same number."""
    return "" if value is None else repr(value).removesuffix(".0")
