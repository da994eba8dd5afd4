"""A call that is run again for its backward runs without checkpoints: autograd.grad() refuses a re-entrant one, and in torch 1.13 the
modes of a second run do not go through the other kind.
"""
import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def taken_out() -> Iterator[None]:
    """In this thread, torch.utils.checkpoint.checkpoint() calls its function and does nothing else."""
    module: Any = sys.modules.get("torch.utils.checkpoint")
    here = threading.get_ident()
    originals: dict[str, Any] = {}

    def plain(original: Any) -> Any:
        def run(function: Any, preserve_rng_state: Any, *arguments: Any, **keywords: Any) -> Any:
            if threading.get_ident() != here:
                return original(function, preserve_rng_state, *arguments, **keywords)
            return function(*arguments, **keywords)
        return run

    reentrant = getattr(module, "CheckpointFunction", None)
    if reentrant is not None:
        originals["CheckpointFunction"] = reentrant
        module.CheckpointFunction = type("CheckpointFunction", (), {"apply": staticmethod(plain(reentrant.apply))})
    other = getattr(module, "_checkpoint_without_reentrant", None)
    if other is not None and "context_fn" not in inspect.signature(other).parameters:
        originals["_checkpoint_without_reentrant"] = other
        module._checkpoint_without_reentrant = plain(other)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(module, name, original)
