"""Partials merged over ranks: mpi4py, torch.distributed, or a pair of functions that reduce."""
import sys
from array import array
from collections import deque
from typing import Any, Callable, Mapping

from . import _native
from ._library import Error
from ._meter import Partial

__all__ = ["Ranks", "all_reduce"]

Reduce = Callable[[memoryview], Any]

# The last tensors that torch reduced. Gloo's thread holds such a tensor for a moment longer than all_reduce() takes. If
# it were the last to hold it, it would need the GIL to free it, and at the interpreter's exit that ends the process by
# SIGABRT.
_last_reduced: deque[Any] = deque(maxlen=4)


def _of_torch(distributed: Any, group: Any) -> tuple[int, int, Reduce, Reduce]:
    import torch

    def reduce_by(operation: Any) -> Reduce:
        def reduce(words: memoryview) -> None:
            # NCCL and HCCL reduce only tensors on their device, gloo only tensors on the host.
            backend = str(distributed.get_backend(group))
            kind = "cpu" if backend in ("gloo", "mpi") else "npu" if backend == "hccl" else "xpu" if backend in (
                "ccl", "xccl") else "cuda"
            own = torch.frombuffer(words, dtype=torch.int64)
            there = own if kind == "cpu" else own.to(torch.device(kind, getattr(torch, kind).current_device()))
            _last_reduced.append(there)
            distributed.all_reduce(there, op=operation, group=group)
            if there is not own:
                own.copy_(there)
        return reduce

    return (distributed.get_rank(group), distributed.get_world_size(group), reduce_by(distributed.ReduceOp.MAX),
            reduce_by(distributed.ReduceOp.SUM))


def max_of_ranks(number: int) -> int:
    """The greatest of the numbers that the ranks of torch.distributed's default group give."""
    _, _, reduce_by_max, _ = _of_torch(sys.modules["torch.distributed"], None)
    words = array("q", [number])
    reduce_by_max(memoryview(words))
    return words[0]


def _of_mpi(communicator: Any) -> tuple[int, int, Reduce, Reduce]:
    from mpi4py import MPI

    def reduce_by(operation: Any) -> Reduce:
        return lambda words: communicator.Allreduce(MPI.IN_PLACE, [words, MPI.INT64_T], op=operation)

    return communicator.Get_rank(), communicator.Get_size(), reduce_by(MPI.MAX), reduce_by(MPI.SUM)


def _of(group: Any) -> tuple[int, int, Reduce, Reduce]:
    torch_distributed: Any = sys.modules.get("torch.distributed")
    has_torch = torch_distributed is not None and torch_distributed.is_available() and torch_distributed.is_initialized()
    if group is None:
        if has_torch:
            return _of_torch(torch_distributed, None)
        mpi = sys.modules.get("mpi4py.MPI")
        if mpi is not None:
            return _of_mpi(mpi.COMM_WORLD)
        raise Error("all_reduce: no ranks are known: initialise torch.distributed, import mpi4py.MPI, or give group=")
    if hasattr(group, "Allreduce") and hasattr(group, "Get_rank"):  # a communicator of mpi4py
        return _of_mpi(group)
    if has_torch and isinstance(group, torch_distributed.ProcessGroup):
        return _of_torch(torch_distributed, group)
    raise Error(f"all_reduce: group is a {type(group).__name__}; it can be a communicator of mpi4py, a process group of "
                "torch.distributed, or a tensorstat.Ranks")


class Ranks:
    """The ranks that merge a list of partials, step after step. Keep one for each list: all_reduce() then takes two
    collectives a step, and not three, because the ranks agreed on the list in the first step.

        ranks = tensorstat.Ranks()                                # or Ranks(group)
        for step in range(100):
            whole = ranks.all_reduce(lambda: {name: tensorstat.fold(x) for name, x in shards.items()})

    `group`: a communicator of mpi4py or a process group of torch.distributed. None: torch.distributed's default group if
    it is initialised, else mpi4py's COMM_WORLD if mpi4py.MPI is imported.

    For any other library: rank, size, and two functions. Each takes a writable memoryview of int64, the same length on
    every rank, and reduces it in place over all ranks:

        tensorstat.Ranks(rank=rank, size=size, all_reduce_max=f, all_reduce_sum=g)
    """

    def __init__(self, group: Any = None, *, rank: int | None = None, size: int | None = None,
                 all_reduce_max: Reduce | None = None, all_reduce_sum: Reduce | None = None) -> None:
        if all_reduce_max is None and all_reduce_sum is None and rank is None and size is None:
            self.rank, self.size, self._max, self._sum = _of(group)
        elif group is not None or all_reduce_max is None or all_reduce_sum is None or rank is None or size is None:
            raise Error("Ranks: give a group, or all four of rank, size, all_reduce_max and all_reduce_sum")
        else:
            self.rank, self.size, self._max, self._sum = rank, size, all_reduce_max, all_reduce_sum
        self._handle = _native.open_collective(self.rank, self.size)

    def others(self) -> "Ranks":
        """The same ranks, for another list."""
        return Ranks(rank=self.rank, size=self.size, all_reduce_max=self._max, all_reduce_sum=self._sum)

    def gather(self, text: str) -> list[str]:
        """The texts of all ranks, by rank: a MAX of their lengths, and a SUM in which each rank has a place of its own."""
        own = text.encode()
        most = array("q", [len(own)])
        self._max(memoryview(most))
        words = 1 + (most[0] + 7) // 8
        place = array("q", [len(own)]) + array("q", own.ljust((words - 1) * 8))
        every = array("q", bytes(8 * words * self.rank)) + place + array("q", bytes(8 * words * (self.size - self.rank - 1)))
        self._sum(memoryview(every))
        places = [every[rank * words:rank * words + words] for rank in range(self.size)]
        return [place[1:].tobytes()[:place[0]].decode() for place in places]

    def all_reduce(self, parts: Any) -> Any:
        """tensorstat.all_reduce(parts, group) over these ranks."""
        fault: BaseException | None = None
        given: Any = None
        own: list[Partial] = []
        try:
            given = parts() if callable(parts) else parts
            is_named = isinstance(given, Mapping)
            own = [given] if isinstance(given, Partial) else list(given.values() if is_named else given)
            if not all(isinstance(part, Partial) for part in own):
                raise Error("all_reduce: parts is a Partial, a list or a dict of Partials, or a function that returns one")
            label = "\n".join(repr(str(name)) for name in given) if is_named else ""
            _native.collective_begin(self._handle, [part._handle for part in own], label)
        except Exception as failure:  # the other ranks are told before it is raised
            fault = failure
            words = f"{type(failure).__name__}: {failure}".encode(errors="replace").decode().replace("\0", " ")
            _native.collective_begin_failed(self._handle, words)
        while (round := _native.collective_next(self._handle)) is not None:
            is_max, words_of_round = round
            (self._max if is_max else self._sum)(memoryview(words_of_round).cast("q"))
            _native.collective_put(self._handle, words_of_round)
        if fault is not None:
            raise fault
        try:
            handles = _native.collective_finish(self._handle)
        except Error as failure:
            raise Error(f"all_reduce: {failure}", failure.code) from None
        whole = [Partial(handle, part._request) for handle, part in zip(handles, own)]
        if isinstance(given, Mapping):
            return dict(zip(given, whole))
        return whole[0] if isinstance(given, Partial) else whole


def all_reduce(parts: Any, group: Any = None) -> Any:
    """The partials of whole tensors, from the parts of all ranks: on every rank the same, with the bits of one process
    that measured the whole tensors.

        part = tensorstat.fold(shard, "max,l2norm,nan_count")
        tensorstat.all_reduce(part).finish().l2norm

    `parts`: a Partial, a list of them, a dict by name, or a function that returns one of these. A function's exception
    is raised on its own rank and is an Error on all others, so no rank waits for one that failed. Every rank of the group
    calls it, with the same list. A rank without elements gives the fold of an empty array. For indices, crc32 and xor64
    say first where each part begins (Partial.move_to).

    `group`: what Ranks() takes, or a Ranks, which saves the first of the three collectives in each later step: int64 by
    MAX and by SUM, and a fourth if indices are asked for. Their number does not depend on the number of partials, and
    their bytes not on the number of ranks, but for quantiles and precision `low`: those take the bytes of all ranks.

    Error, on every rank: a rank failed, or the lists differ in names, number, dtype, precision or statistics.
    """
    ranks = group if isinstance(group, Ranks) else Ranks(group)
    return ranks.all_reduce(parts)
