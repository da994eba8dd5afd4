"""The tensors of a watched model that lie in shards or in replicas on several ranks: rows of the whole, and replicas that
differ. stats/doc/ranks.md says what `shards` and `output_shards` mean."""
import base64
import contextlib
import csv
import io
import json
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._hooks import say_fault
from ._journal import Journal
from ._library import Error, logger, replace_file
from ._meter import Partial, fold
from ._ranks import Ranks
from ._replicas import ReplicaFault, ranks_that_differ
from ._tensors import is_dtensor, local_of, readable

_STATISTICS = ("max", "min", "avg", "l2norm", "nan count", "positive inf count", "negative inf count", "zero count")
_HEADER = ("Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
           "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count,Zero Count").split(",")
_FOLDED = (*_STATISTICS, "count")
KINDS = ("dtensor", "tp", "dp")
# (op type, op name, tensor or None, name of a parameter, the parameter or None). The tensor lies as the parameter does;
# None: it is a replica.
TensorOfStep = tuple[str, str, Any, str, Any]
How = str | Callable[[str, Any], str | None] | None


# How a whole tensor lies on the ranks. A DTensor's layout names its placements and the sizes of the mesh instead.
_CUT = "cut"  # each rank counts its own part
_REPLICA = "replica"  # rank 0 counts it


class _Part(NamedTuple):
    """This rank's part of a whole tensor."""
    shape: tuple[int, ...] | None  # of the whole; None: not known, so its elements are counted
    tensor: Any  # None: no elements
    layout: str = _CUT
    shard: int | None = 0  # ranks of the same shard have replicas of it; None: this rank is outside of the tensor's mesh


class _Whole(NamedTuple):
    """A whole tensor: the same on every rank."""
    op_type: str
    op_name: str
    dtype: str  # torch's name for the folded dtype
    slot: int
    call: int  # of the module, in this step
    layout: str

    @property
    def is_placed_by_mesh(self) -> bool:
        return self.layout not in (_CUT, _REPLICA)

    @property
    def may_be_compared(self) -> bool:
        return self.layout != _CUT and self.op_type != "Gradient"  # gradients that are accumulated may differ


class _Own(NamedTuple):
    """A rank's part of it."""
    folded: Partial
    shape: tuple[int, ...] | None
    elements: int | None  # of the whole, if its mesh says it
    shard: int | None
    hash: int | None  # of what may have a replica: its xor64, as an int64


class _Holders(NamedTuple):
    """Which ranks of the group hold the shards of a DTensor. Its mesh does not say what lies on ranks outside of it."""
    counted: int | None  # the shard that this rank counts, because no lower rank holds it
    compared: tuple[int, ...]  # the shards that several ranks hold


class _Unreduced(Exception):
    """A DTensor is Partial."""


class _Refused(Error):
    """The caller's function gave no word that is known."""


_NEW = "new"  # the key of the number of tensors that no rank had before


def folder_of_whole(folder: str) -> str:
    """The folder for rows of the whole, from a rank's own folder: {path}/rank_0/model gives {path}-whole/rank_0/model."""
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
            self._journals[1].say("run", **{**run, "world_size": 1, "parameters": True, "whole": True})
        self._said: set[str] = set()
        self._outputs: dict[_Whole, _Own] = {}  # of this step
        self._calls: dict[str, int] = {}
        self._known: dict[_Whole, None] = {}  # outputs and DTensors of any rank, in the same order on every rank
        self._holders: dict[_Whole, _Holders] = {}  # of the known DTensors
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
        own = dict(self._outputs)  # of this rank, in the order of its rows
        new: list[_Whole] = []
        self.compared.clear()

        def parts() -> dict[Any, Partial]:
            if is_stopped:
                raise Error("its watch is stopped")
            plain = self._add_tensors(tensors(), own)
            every.update((whole, own.get(whole)) for whole in (*self._known, *plain))
            new.extend(whole for whole in own if whole not in every)
            return {_NEW: _of_numbers([len(new)], "max"), **self._parts_of(every, self._holders)}

        try:
            merged = self._ranks.all_reduce(parts)
            if merged[_NEW].finish().max > 0:  # a rank has tensors that no rank had before: all learn of them
                holders = self._agree(new, own)
                of_new = {whole: own.get(whole) for whole in holders}
                every.update(of_new)
                merged.update(self._ranks_of_new.all_reduce(lambda: self._parts_of(of_new, holders)))
                self._known.update(dict.fromkeys(of_new))
                self._holders.update(holders)
            self._compare(iteration, merged, every)
            if self._ranks.rank == 0 and self._folder is not None:
                self._write(iteration, merged, {whole: every[whole] for whole in (*own, *every)})
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

    def _agree(self, new: list[_Whole], own: dict[_Whole, _Own]) -> dict[_Whole, _Holders]:
        """The tensors that are new on any rank, and their holders: every rank tells all others what it holds."""
        texts = self._ranks.gather(_packed(json.dumps([(*whole, own[whole].shard) for whole in new])))
        ranks_of: dict[_Whole, dict[int, list[int]]] = {}
        for rank, text in enumerate(texts):
            for *whole, shard in json.loads(_unpacked(text)):
                of_shards = ranks_of.setdefault(_Whole(*whole), {})
                if shard is not None:
                    of_shards.setdefault(shard, []).append(rank)
        holders = {}
        for each, of_shards in ranks_of.items():
            counted = [shard for shard, ranks in of_shards.items() if ranks[0] == self._ranks.rank]
            compared = sorted(shard for shard, ranks in of_shards.items() if len(ranks) > 1)
            holders[each] = _Holders(counted[0] if counted else None, tuple(compared) if each.may_be_compared else ())
        return holders

    def _add_tensors(self, tensors: Iterator[TensorOfStep], own: dict[_Whole, _Own]) -> list[_Whole]:
        """Adds this rank's parts. Returns the tensors that are not DTensors, which are the same on every rank."""
        plain = []
        for op_type, name, tensor, parameter_name, parameter in tensors:
            if self._folder is None and op_type == "Gradient":
                continue
            try:
                part = self._part(tensor, parameter_name, parameter)
                whole, folded = self._folded(op_type, name, part, parameter if tensor is None else tensor)
            except _Unreduced:
                self._say_unreduced(f"{op_type.lower()} {name}")
                continue
            except _Refused:
                raise
            except Exception as fault:  # such as of a parameter on meta: the others have rows
                self._say_once(f"{op_type} {name} has no row of the whole: {fault}", name)
                continue
            if self._folder is not None or whole.may_be_compared:
                own[whole] = folded
                if not whole.is_placed_by_mesh:
                    plain.append(whole)
        return plain

    def _folded(self, op_type: str, name: str, part: _Part, like: Any, slot: int = 0, call: int = 0) -> tuple[_Whole, _Own]:
        local = _nothing(like) if part.tensor is None else readable(part.tensor)
        whole = _Whole(op_type, name, str(local.dtype), slot, call, part.layout)
        elements = math.prod(part.shape) * (2 if like.is_complex() else 1) if whole.is_placed_by_mesh and part.shape is not None else None
        folded = fold(local, self._statistics_of(whole, self._holders))
        has_hash = part.tensor is not None and self._has_hash(whole, self._holders)
        own = int(str(folded.finish().xor64), 16) - 2**63 if has_hash else None
        return whole, _Own(folded, part.shape, elements, part.shard, own)

    def _has_hash(self, whole: _Whole, holders: dict[_Whole, _Holders]) -> bool:
        """Whether its xor64 is kept: of a DTensor in the first step, because its holders are not known yet."""
        if whole.is_placed_by_mesh and whole in holders:
            return bool(holders[whole].compared)
        return whole.may_be_compared

    def _statistics_of(self, whole: _Whole, holders: dict[_Whole, _Holders]) -> tuple[str, ...]:
        of_row = _FOLDED if self._folder is not None else ("count",)
        return (*of_row, "xor64") if self._has_hash(whole, holders) else of_row

    def _is_counted(self, whole: _Whole, own: _Own, holders: dict[_Whole, _Holders]) -> bool:
        if whole.is_placed_by_mesh:
            return own.shard is not None and own.shard == holders[whole].counted
        return whole.layout == _CUT or self._ranks.rank == 0

    def _compared_of(self, whole: _Whole, holders: dict[_Whole, _Holders]) -> tuple[int, ...]:
        """The shards of it that are compared."""
        if not whole.may_be_compared:
            return ()
        return holders[whole].compared if whole.is_placed_by_mesh else (0,)

    def _parts_of(self, every: dict[_Whole, _Own | None], holders: dict[_Whole, _Holders]) -> dict[Any, Partial]:
        """This rank's contribution: the folds of the tensors that it counts, and the hashes of its replicas."""
        parts: dict[Any, Partial] = {}
        for whole, own in every.items():
            if self._folder is not None:  # the statistics were taken when the step began: see _has_hash()
                is_counted = own is not None and self._is_counted(whole, own, holders)
                parts[whole] = own.folded if own is not None and is_counted else fold(_empty(whole), self._statistics_of(whole, self._holders))
            for shard in self._compared_of(whole, holders):
                parts[whole, shard] = _of_numbers(_hashes(own, shard), "max,min")
        return parts

    def _part(self, tensor: Any, name: str, parameter: Any) -> _Part:
        where = parameter if tensor is None else tensor
        if is_dtensor(where):
            return _part_of_dtensor(tensor, where)
        if is_dtensor(parameter) and tensor.shape == local_of(parameter).shape:  # an optimizer's state of this rank's shard
            return _part_of_dtensor(parameter, parameter)._replace(tensor=tensor)
        kind = "dp" if parameter is None else self._kind(name, parameter) if callable(self._kind) else self._kind
        if kind == "tp" and not getattr(parameter, "tensor_model_parallel", True):  # Megatron marks uncut parameters so
            kind = "dp"
        if kind in ("tp", "shard"):
            return _Part(None, tensor)
        if kind not in ("dp", "dtensor", "replica"):
            raise _Refused(f"shards gave {kind!r} for {name}; it is \"shard\" or \"replica\"")
        return self._replica(tensor, where)

    def _part_of_output(self, name: str, tensor: Any) -> _Part | None:
        if is_dtensor(tensor):
            part = _part_of_dtensor(tensor, tensor)
            if part.shard is None:
                return part
            # Ranks outside of its mesh have outputs of their own, of other data: no replicas of this one, but more of its batch.
            first = int(tensor.device_mesh.mesh.min())
            return part._replace(shape=None, shard=part.shard + tensor.device_mesh.size() * first)
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
        return _Part(tuple(where.shape), tensor, _REPLICA)

    def _compare(self, iteration: int, merged: dict[Any, Partial], every: dict[_Whole, _Own | None]) -> None:
        before, self._different = self._different, {}
        for whole in every:
            for shard in self._compared_of(whole, self._holders):
                values = merged[whole, shard].finish()
                if values.max != values.min:
                    self._different[whole, shard] = before.get((whole, shard), "")
        if different := [each for each in self._different if each not in before]:
            self._find_ranks(iteration, different, every)
        for whole, own in every.items():
            if own is not None and own.shard in self._compared_of(whole, self._holders):
                self.compared[whole.op_type, whole.op_name] = self._different.get((whole, own.shard), "")

    def _find_ranks(self, iteration: int, different: list[tuple[_Whole, int]], every: dict[_Whole, _Own | None]) -> None:
        # Which rank it is: once more, only in a step with a fault, and on all ranks alike.
        size = self._ranks.size
        hashes = self._ranks.others().all_reduce({
            (whole, shard, rank): _of_numbers(_hashes(every[whole], shard) if rank == self._ranks.rank else [], "max")
            for whole, shard in different for rank in range(size)})
        for whole, shard in different:
            of_ranks = {rank: hashes[whole, shard, rank].finish().max for rank in range(size)}
            values = {rank: value for rank, value in of_ranks.items() if value is not None}
            fault = ReplicaFault(iteration, whole.op_type, whole.op_name, ranks_that_differ(values), len(values))
            self.faults.append(fault)
            self._different[whole, shard] = fault.words
            for journal in self._journals:
                journal.say("replica", **fault._asdict())
            logger.warning("%s", fault)

    def _write(self, iteration: int, merged: dict[Any, Partial], every: dict[_Whole, _Own | None]) -> None:
        """`every` has this rank's parts in the order of its rows, and other tensors behind them."""
        lines = []
        for whole, own in every.items():
            values = merged[whole].finish()
            shape = None if own is None else own.shape
            if values.count == 0 and (shape is None or 0 not in shape) and (own is None or whole.op_type == "Gradient"):
                continue  # a gradient that no rank has
            if own is not None and own.elements not in (None, values.count):
                self._say_once(f"{whole.op_type} {whole.op_name} has no row of the whole: it has {own.elements} elements, and the "
                               f"ranks of this group hold {values.count} of them. Give the group of all ranks of its mesh",
                               f"{whole.op_type} {whole.op_name}")
                continue
            shape = (values.count,) if shape is None else shape
            size = values.count * _empty(whole).element_size()
            lines.append([whole.op_type, whole.op_name, 0, 0, time.time_ns() // 1000, "output", whole.slot, size,
                          whole.dtype.removeprefix("torch."), "(" + ",".join(map(str, shape)) + ")",
                          *(_text(values[each]) for each in _STATISTICS)])
        assert self._folder is not None
        folder = os.path.join(self._folder, "0", str(iteration))
        os.makedirs(folder, exist_ok=True)
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([_HEADER, *lines])
        replace_file(os.path.join(folder, "statistic.csv"), text.getvalue())

    def _say_unreduced(self, subject: str) -> None:
        self._say_once(f"{subject} has the placement Partial: its values are not there before they are reduced. It has no row of "
                       "the whole. Redistribute it first")

    def _say_once(self, words: str, key: str = "") -> None:
        if (key or words) not in self._said:
            self._said.add(key or words)
            logger.warning("%s", words)


def _part_of_dtensor(tensor: Any, where: Any) -> _Part:
    """The part of a DTensor on a mesh of any dimensions: cut along some, and the same along the others. The mesh may hold only some ranks
    of the group. Others have replicas on meshes of their own, or nothing."""
    coordinates = where.device_mesh.get_coordinate()
    shard, layout = 0, []
    for dimension, placement in enumerate(where.placements):
        if placement.is_partial():
            raise _Unreduced
        if placement.is_replicate():
            continue
        size = where.device_mesh.size(dimension)
        shard = shard * size + (0 if coordinates is None else coordinates[dimension])
        layout.append(f"{type(placement).__name__}({getattr(placement, 'dim', '')}, {getattr(placement, 'split_factor', '')}) of {size}")
    shape = tuple(where.shape)
    if coordinates is None:
        return _Part(shape, None, f"mesh {layout}", None)
    return _Part(shape, None if tensor is None else local_of(tensor), f"mesh {layout}", shard)


def _packed(text: str) -> str:
    return base64.b85encode(zlib.compress(text.encode())).decode()


def _unpacked(text: str) -> str:
    return zlib.decompress(base64.b85decode(text)).decode()


def _hashes(own: _Own | None, shard: int) -> list[int]:
    return [own.hash] if own is not None and own.hash is not None and own.shard == shard else []


def _empty(whole: _Whole) -> Any:
    torch = sys.modules["torch"]
    return torch.empty(0, dtype=getattr(torch, whole.dtype.removeprefix("torch.")))


def _nothing(like: Any) -> Any:
    return readable(sys.modules["torch"].empty(0, dtype=like.dtype))


def _of_numbers(numbers: list[int], statistics: str) -> Partial:
    """A partial of the ranks' numbers: their max and min are those of a tensor with one element on each rank."""
    return fold(sys.modules["torch"].tensor(numbers, dtype=sys.modules["torch"].int64), statistics)


def _text(value: Any) -> str:
    """As the session writes it: the shortest digits that read back as the same number."""
    return "" if value is None else repr(value).removesuffix(".0")
