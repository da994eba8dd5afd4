"""A function of ours around each of torch's functions that the caller calls."""
import functools
from collections.abc import Callable
from typing import Any


def around(run: Callable[[Any, Any, dict[str, Any]], Any]) -> Any:
    """A context manager. In this thread run(func, args, kwargs) takes the place of each func(*args, **kwargs)."""
    return _class()(run)


@functools.cache
def _class() -> Any:
    from torch.overrides import TorchFunctionMode

    class Around(TorchFunctionMode):  # type: ignore[misc]
        def __init__(self, run: Any) -> None:
            super().__init__()
            self._run = run

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self._run(func, args, kwargs or {})
    return Around
