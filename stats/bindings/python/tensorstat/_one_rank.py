"""Decides whether one rank of several may run a call again by itself. A collective that one rank issues alone hangs the job, so a run ends
before the first operation that may be one. (_guard ends it before functions of torch.distributed and of extensions.)"""
import sys
from typing import Any

from ._tensors import is_dtensor

# Operations of these namespaces compute, and ask no other rank. All others may: c10d's do, and nobody knows what an extension's do.
_LOCAL = {"aten", "prim", "prims", "torchvision", "quantized", "inductor", "profiler"}


def refusal_of_operation(schema: Any, args: Any, kwargs: Any) -> str:
    """Why one rank alone may not run this operation; "" where it may."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized() or distributed.get_world_size() == 1:
        return ""
    name = schema.name if schema is not None else "an operation"
    if name.split("::")[0] not in _LOCAL:
        return f"{name} may need the other ranks, and one alone cannot run it again"
    for each in (*args, *kwargs.values()):
        if any(map(is_dtensor, each if isinstance(each, (list, tuple)) else (each,))):
            return f"{name} has a DTensor, which may need the other ranks, and one alone cannot run it again"
    return ""
