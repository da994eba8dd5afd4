"""Partials merged over ranks: mpi4py, torch.distributed, or a function that gathers bytes."""
import json
import sys
from typing import Any, Callable, Iterable, Mapping

from ._library import Error
from ._meter import Partial

__all__ = ["all_reduce"]

Gather = Callable[[bytes], Iterable[bytes]]
_MAGIC = b"tensorstat-ranks 1\n"


def _torch_gather(distributed: Any, group: Any) -> Gather:
    import torch

    def gather(data: bytes) -> list[bytes]:
        # NCCL and HCCL reduce tensors of their device only, gloo those of the host.
        backend = str(distributed.get_backend(group))
        kind = "cpu" if backend in ("gloo", "mpi") else "npu" if backend == "hccl" else "cuda"
        device = torch.device("cpu") if kind == "cpu" else torch.device(kind, getattr(torch, kind).current_device())
        ranks = distributed.get_world_size(group)
        size = torch.tensor([len(data)], dtype=torch.int64, device=device)
        sizes = [torch.zeros_like(size) for _ in range(ranks)]
        distributed.all_gather(sizes, size, group=group)
        room = max(int(each) for each in sizes)
        own = torch.zeros(room, dtype=torch.uint8)
        own[:len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
        own = own.to(device)
        all_of_them = [torch.zeros_like(own) for _ in range(ranks)]
        distributed.all_gather(all_of_them, own, group=group)
        return [bytes(each.cpu().numpy()[:int(length)]) for each, length in zip(all_of_them, sizes)]

    return gather


def _gather_of(group: Any) -> Gather:
    torch_distributed = sys.modules.get("torch.distributed")
    has_torch = torch_distributed is not None and torch_distributed.is_available() and torch_distributed.is_initialized()
    if group is None:
        if has_torch:
            return _torch_gather(torch_distributed, None)
        mpi = sys.modules.get("mpi4py.MPI")
        if mpi is not None:
            return mpi.COMM_WORLD.allgather
        raise Error("all_reduce: no ranks are known: initialise torch.distributed, import mpi4py.MPI, or give group=")
    if hasattr(group, "allgather") and hasattr(group, "Get_rank"):  # a communicator of mpi4py
        return group.allgather
    if has_torch and isinstance(group, torch_distributed.ProcessGroup):
        return _torch_gather(torch_distributed, group)
    if callable(group):
        return group
    raise Error(f"all_reduce: group is a {type(group).__name__}; it can be a communicator of mpi4py, a process group of "
                "torch.distributed, or a function that takes this rank's bytes and returns those of all ranks")


def _written(parts: list[Partial], names: list[str] | None, fault: str | None) -> bytes:
    bodies = [part.serialize() for part in parts]
    head = {"names": names, "sizes": [len(body) for body in bodies], "fault": fault}
    return _MAGIC + json.dumps(head).encode() + b"\n" + b"".join(bodies)


def _read(data: bytes, rank: int) -> tuple[list[bytes], list[str] | None, str | None]:
    head_end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or head_end < 0:
        raise Error(f"all_reduce: rank {rank} sent no partials: it has another version of tensorstat, or called another "
                    "collective")
    head = json.loads(data[len(_MAGIC):head_end])
    bodies, at = [], head_end + 1
    for size in head["sizes"]:
        bodies.append(data[at:at + size])
        at += size
    return bodies, head["names"], head["fault"]


def all_reduce(parts: Any, group: Any = None) -> Any:
    """The partials of whole tensors, from the parts of all ranks: on every rank the same, with the bits of one process
    that measured the whole tensors.

        part = tensorstat.fold(shard, "max,l2norm,nan_count")
        tensorstat.all_reduce(part).finish().l2norm

    `parts`: a Partial, a list of them, a dict by name, or a function that returns one of these. A function's exception
    is raised on its own rank and is an Error on all others, so no rank waits for one that failed. Every rank of the group
    calls it, with the same list. A rank without elements gives the fold of an empty array. For indices, crc32 and xor64
    say first where each part begins (Partial.move_to).

    `group`: a communicator of mpi4py; a process group of torch.distributed; a function that takes this rank's bytes and
    returns the bytes of all ranks, in their order. None: torch.distributed's default group if it is initialised, or
    mpi4py's COMM_WORLD if mpi4py.MPI is imported. It takes two all-gathers, whatever the number of partials; a partial is
    some 400 bytes, with quantiles some 40 KB.

    Error, on every rank: a rank failed, or the lists differ in names, number, dtype, precision or statistics.
    """
    gather = _gather_of(group)
    fault: BaseException | None = None
    given: Any = []
    names: list[str] | None = None
    own: list[Partial] = []
    try:
        given = parts() if callable(parts) else parts
        if isinstance(given, Mapping):
            names = [str(name) for name in given]
        own = [given] if isinstance(given, Partial) else list(given.values() if isinstance(given, Mapping) else given)
        if not all(isinstance(part, Partial) for part in own):
            raise Error("all_reduce: parts is a Partial, a list or a dict of Partials, or a function that returns one")
        sent = _written(own, names, None)
    except Exception as failure:  # the other ranks are told before it is raised
        fault = failure
        sent = _written([], None, f"{type(failure).__name__}: {failure}")
    received = [_read(data, rank) for rank, data in enumerate(gather(sent))]
    if fault is not None:
        raise fault
    for rank, (_, _, words) in enumerate(received):
        if words is not None:
            raise Error(f"all_reduce: rank {rank} failed, so no rank has a result: {words}")
    bodies, first_names, _ = received[0]
    for rank, (others, other_names, _) in enumerate(received):
        if len(others) != len(bodies) or other_names != first_names:
            raise Error(f"all_reduce: rank {rank} has another list of partials than rank 0: "
                        f"{other_names or len(others)}, and not {first_names or len(bodies)}")
    whole: list[Partial] = []
    for i, part in enumerate(own):
        merged = Partial(Partial.parse(bodies[i])._handle, part._request)
        for rank, (others, _, _) in enumerate(received[1:], 1):
            try:
                merged.merge(Partial.parse(others[i]))
            except Error as failure:
                which = first_names[i] if first_names else f"partial {i}"
                raise Error(f"all_reduce: {which} of rank {rank} and of rank 0: {failure}") from None
        whole.append(merged)
    if isinstance(given, Mapping):
        return dict(zip(given, whole))
    return whole[0] if isinstance(given, Partial) else whole
