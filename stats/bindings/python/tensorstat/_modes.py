"""Calls a function of this library around each of torch's functions that the caller calls, and around each operation below autograd."""
import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ._compiled import is_tracing

_PLAIN_MODES = {"DeviceContext"}  # `with torch.device(...)` changes no object
_SETTERS = {"__set__", "__delete__", "retain_grad", "requires_grad_", "set_", "share_memory_", "register_hook", "backward"}


def modes() -> tuple[list[Any], list[Any]]:
    """This thread's modes of functions, and its modes of operations, each in the order in which they were entered."""
    function_modes = sys.modules["torch.overrides"]._get_current_function_mode_stack
    dispatch_modes = sys.modules["torch.utils._python_dispatch"]._get_current_dispatch_mode_stack
    return function_modes(), dispatch_modes()


def foreign_mode() -> str:
    """The class of a mode that the caller has entered, which would see the operations of a second run; "" of none."""
    names = [type(each).__name__ for stack in (*modes(), HERE.hidden) for each in stack]
    return next((each for each in names if each not in _PLAIN_MODES), "")


def leave_modes(before: tuple[list[Any], list[Any]]) -> None:
    """Takes off the modes that a run has entered by hand: it cannot leave them any more."""
    now = modes()
    for module, was, stack in zip(("torch.overrides", "torch.utils._python_dispatch"), before, now):
        for _ in stack[len(was):]:
            sys.modules[module]._pop_mode()


def sets_attribute(func: Any) -> bool:
    """Whether a function of torch writes to an attribute of its first tensor, such as .data or .grad."""
    return getattr(func, "__name__", "") in _SETTERS


def written_by(schema: Any, args: Any, kwargs: Any) -> list[Any]:
    """The tensors that an operation writes to."""
    from torch.utils._pytree import tree_flatten
    tensor = sys.modules["torch"].Tensor
    if schema is None:
        return []
    tensors = []
    for number, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            tensors += [each for each in tree_flatten(value)[0] if isinstance(each, tensor)]
    return tensors


def around(run: Callable[[Any, Any, dict[str, Any]], Any]) -> Any:
    """A context manager. In this thread run(func, args, kwargs) takes the place of each func(*args, **kwargs)."""
    return _class()(run)


@functools.cache
def _class() -> Any:
    from torch.overrides import TorchFunctionMode

    class Around(TorchFunctionMode):  # type: ignore[misc]
        is_on = True

        def __init__(self, run: Any) -> None:
            super().__init__()
            self._run = run

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self._run(func, args, {} if kwargs is None else kwargs)
    return Around


class _Here(threading.local):
    """A mode that lasts from the end of a model to backward, while the caller's code runs: see _loss_operations."""
    mode: Any = None
    suspended: tuple[Any, Any] | None = None  # (module, mode): another model runs, which a mode could change
    hidden: tuple[Any, ...] = ()  # modes of operations


HERE = _Here()


def has_modes() -> bool:
    """Whether this thread has modes of operations."""
    return bool(getattr(sys.modules["torch"]._C, "_len_torch_dispatch_stack", int)())


@contextlib.contextmanager
def below_modes() -> Iterator[None]:
    """The caller's modes of operations do not see those inside: a selective checkpoint counts them, and hands out results by number."""
    stack = sys.modules["torch.utils._python_dispatch"]
    if not has_modes() or is_tracing():
        yield
        return
    hidden = stack._get_current_dispatch_mode_stack()
    for _ in hidden:
        stack._pop_mode()
    before, HERE.hidden = HERE.hidden, (*HERE.hidden, *hidden)
    try:
        yield
    finally:
        HERE.hidden = before
        for mode in hidden:
            stack._push_mode(mode)


def leave() -> None:
    """Ends what this thread looks at. Where another mode was entered since, ours stays for now, and does nothing."""
    HERE.suspended = None
    mode = HERE.mode
    if mode is None:
        return
    mode.is_on = False
    leave_ended()


def leave_ended() -> None:
    """Takes off this thread's modes that have ended, down to one that has not."""
    from torch.overrides import _get_current_function_mode
    while isinstance(mode := _get_current_function_mode(), _class()) and not mode.is_on:
        if HERE.mode is mode:
            HERE.mode = None
        mode.__exit__(None, None, None)


def suspend(module: Any) -> None:
    """Another model begins to run. Some of torch's modules take another way where there is a mode, with other roundings."""
    from torch.overrides import _get_current_function_mode
    mode = HERE.mode
    if HERE.suspended is None and (module._modules or module._parameters) and _get_current_function_mode() is mode:
        HERE.mode = None
        mode.__exit__(None, None, None)
        HERE.suspended = module, mode


def resume(module: Any) -> None:
    if HERE.suspended is not None and HERE.suspended[0] is module:
        mode = HERE.suspended[1]
        HERE.suspended = None
        if mode.is_on and is_alone():
            mode.__enter__()
            HERE.mode = mode


def is_alone() -> bool:
    return not sys.modules["torch.overrides"]._get_current_function_mode_stack()


class Leaver:
    """Lies among the arguments of torch's function around a mode, if they have names. They go when the mode is there again."""

    def __init__(self, mode: Any) -> None:
        self._mode = mode  # None: of a closed watch

    def __del__(self) -> None:
        if self._mode is None:
            leave_ended()
        elif HERE.mode is self._mode:
            leave()
