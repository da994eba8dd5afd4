"""Rows of operations, for level="op": torch's functions as the caller calls them, and the nodes of autograd behind them."""
import functools
import sys
from typing import Any

from ._hooks import say_fault
from ._journal import caller_of
from ._modes import around
from ._tensors import tensors_in

# What gives no value that was computed, or whatever memory held.
_LEFT_OUT = {"__get__", "__set__", "__delete__", "requires_grad_", "detach", "detach_", "register_hook", "retain_grad", "backward",
             "empty", "empty_like", "new_empty", "empty_strided", "size", "stride", "numel", "item", "tolist", "numpy", "clone_",
             "__deepcopy__", "__reduce_ex__", "__repr__", "__format__"}


def enter(watch: Any) -> Any:
    """For this thread, until the watch closes."""
    mode = around(functools.partial(_run, watch))
    mode.__enter__()
    return mode


def _run(watch: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = None
    name = getattr(func, "__name__", "")
    if name not in _LEFT_OUT:
        try:
            call = _before(watch, name.strip("_"), args, kwargs)
        except Exception as fault:
            say_fault(fault)
    out = func(*args, **kwargs)
    if call is not None:
        try:
            _behind(watch, call, out)
        except Exception as fault:
            say_fault(fault)
    return out


def leave(mode: Any) -> None:
    """Where another mode was entered since, it stays, and does nothing: its watch is closed."""
    from torch.overrides import _get_current_function_mode
    if _get_current_function_mode() is mode:
        mode.__exit__(None, None, None)


class _Operation:
    __slots__ = ("op_type", "name", "given", "took", "where", "in_loss")

    def __init__(self, op_type: str, name: str, given: list[Any], where: tuple[str, int, str] | None, in_loss: bool) -> None:
        self.op_type, self.name, self.given, self.where, self.in_loss = op_type, name, given, where, in_loss
        self.took = 0


def _before(watch: Any, name: str, args: Any, kwargs: Any) -> _Operation | None:
    place = watch._place_of_operation()
    if place is None or not name:
        return None
    given = tensors_in((args, kwargs))
    if place == "loss" and not any(each.requires_grad for each in given):
        return None
    numbered = f"{place}/{name}.{watch._next_number(f'{place}/{name}')}"
    call = _Operation(name, numbered, given, caller_of(sys._getframe(2)), place == "loss")
    call.took = watch._operation_given(call) if given else 0  # before it may write to them
    return call


def _behind(watch: Any, call: _Operation, out: Any) -> None:
    results = tensors_in(out)
    if not results:
        return
    watch._operation_gave(call, results)
    if watch._with_gradients:
        node = next((each.grad_fn for each in results if each.grad_fn is not None), None)
        if node is not None:
            node.register_hook(_GradientOfNode(watch, call.op_type, f"{call.name}/backward"))


class _GradientOfNode:
    __slots__ = ("_watch", "_op_type", "_name")

    def __init__(self, watch: Any, op_type: str, name: str) -> None:
        self._watch, self._op_type, self._name = watch, op_type, name

    def __call__(self, gave: Any, given: Any) -> None:
        watch = self._watch
        try:
            if not watch._is_in_backward:
                watch._backward_begins()
            if watch.active and not watch._local.is_silent:
                for io, gradients in (("input", given), ("output", gave)):
                    if any(each is not None for each in gradients):
                        if faults := watch._collect(self._op_type, self._name, **{f"{io}s": list(gradients)}):
                            watch._note("backward", faults, self._op_type, self._name, io)
        except Exception as fault:
            say_fault(fault)
