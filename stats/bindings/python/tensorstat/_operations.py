"""Rows of operations, for level="op": torch's functions as the caller calls them, and the nodes of autograd behind them."""
import functools
import sys
from typing import Any

from ._compiled import is_tracing
from ._hooks import say_fault
from ._journal import OURS, caller_of
from ._later import Faults
from ._modes import Leaver, around, below_modes, leave_ended
from ._tensors import is_float, tensors_in
from ._verdict import INF, NAN

_WRITERS = "mask", "fill", "where", "triu", "tril", "full"  # in names of operations: they write -Inf, and compute none

# Functions that give no computed value, or uninitialised memory.
_LEFT_OUT = {"__get__", "__set__", "__delete__", "requires_grad_", "detach", "detach_", "register_hook", "retain_grad", "backward",
             "empty", "empty_like", "new_empty", "empty_strided", "size", "stride", "numel", "item", "tolist", "numpy", "clone_",
             "__deepcopy__", "__reduce_ex__", "__repr__", "__format__"}


def enter(watch: Any) -> Any:
    """For this thread, until the watch closes."""
    mode = around(functools.partial(_run, watch))
    mode.__enter__()
    return mode


def _run(watch: Any, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if watch._is_closed:  # by another thread, or below another mode
        try:
            return func(*args, **kwargs)
        finally:
            kwargs["tensorstat"] = Leaver(None)
    call = sources = None
    name = getattr(func, "__name__", "")
    if name not in _LEFT_OUT:
        try:
            with below_modes():
                call, sources = _before(watch, name.strip("_"), args, kwargs)
        except Exception as fault:
            say_fault(fault)
    out = func(*args, **kwargs)
    if call is not None:
        try:
            with below_modes():
                _behind(watch, call, sources, out)
        except Exception as fault:
            say_fault(fault)
    return out


def leave(mode: Any) -> None:
    """Where another mode was entered since, it stays for now, and does nothing: its watch is closed."""
    mode.is_on = False
    leave_ended()


class _Operation:
    __slots__ = ("op_type", "name", "took", "where", "in_loss", "empty")

    def __init__(self, op_type: str, name: str, where: tuple[str, int, str] | None, in_loss: bool) -> None:
        self.op_type, self.name, self.where, self.in_loss = op_type, name, where, in_loss
        self.took = 0
        self.empty = ""  # the tensors that it was given, where one has no elements


def _before(watch: Any, name: str, args: Any, kwargs: Any) -> tuple[_Operation | None, list[Any] | None]:
    """The operation, and the nodes of its arguments; None of one that makes no node."""
    place = _place_of_operation(watch)
    if place is None or not name or _is_called_by_watch():
        return None, None
    given = tensors_in((args, kwargs))
    in_loss = not watch._local.calls  # and not in a module of that name
    if in_loss and not any(each.requires_grad for each in given):
        return None, None
    numbered = f"{place}/{name}.{watch._next_number(f'{place}/{name}/{_direction(watch)}')}"
    call = _Operation(name, numbered, caller_of(sys._getframe(2)), in_loss)
    if any(not each.numel() for each in given):
        call.empty = ", ".join(f"{str(each.dtype).removeprefix('torch.')}{list(each.shape)}" for each in given)
    if given:
        _given(watch, call, given)  # before it may write to them
    makes_node = watch._with_gradients and sys.modules["torch"].is_grad_enabled()
    return call, [each.grad_fn for each in given if each.requires_grad] if makes_node else None


def _is_called_by_watch() -> bool:
    """Whether code of this package called the function, to look at a tensor."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.endswith(("_operations.py", "_modes.py", "overrides.py")):
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(OURS)


def _behind(watch: Any, call: _Operation, sources: list[Any] | None, out: Any) -> None:
    results = tensors_in(out)
    if not results:
        return
    _gave(watch, call, results)
    if sources is not None:  # x.float() may return x itself, with the node of another operation
        node = next((node for each in results if (node := each.grad_fn) is not None and node not in sources), None)
        if node is not None:
            hook = node.metadata[watch] = _GradientOfNode(watch, call.op_type, f"{call.name}/backward")
            node.register_hook(hook)


def register_of_module(watch: Any, node: Any, hook: Any) -> None:
    """Registers a hook for the gradient of a module's result. If an operation made the result, its row follows the module's row. `origin` puts
    the row of an operation into the call of its module that began last."""
    operation = node.metadata.get(watch)
    if operation is None:
        node.register_hook(hook)
    else:
        operation.of_modules.append(hook)


def _place_of_operation(watch: Any) -> str | None:
    """The name of the module that runs, or "loss"; None where operations are not watched."""
    local = watch._local
    if local.is_silent or not watch.active or is_tracing():
        return None
    if local.calls:
        call = local.calls[-1]
        return call.place.name if call.place.is_wanted and not call.is_quiet else None
    return "loss" if watch._is_behind_forward and not watch._gradients.is_running else None


def _direction(watch: Any) -> str:
    return "eval" if watch._local.is_evaluation else "forward"


def _say_line(watch: Any, call: _Operation) -> str:
    """Returns the name of its rows."""
    name = f"{call.name}/{_direction(watch)}"
    if watch._with_code and call.where is not None and watch._lines.get((name, 0)) != call.where:
        watch._lines[name, 0] = call.where
        parent = watch._local.calls[-1].name if watch._local.calls else ""
        watch._journal.say("code", op_name=name, iteration=watch.iteration, file=call.where[0], line=call.where[1],
                           function=call.where[2], parent=parent)
    return name


def _given(watch: Any, call: _Operation, given: list[Any]) -> None:
    """Kinds of fault in what an operation is given."""
    name = _say_line(watch, call)
    if faults := watch._collect(call.op_type, name, given, graph=watch._local.is_evaluation):
        watch.judge(faults, _take, call)


def _take(faults: Faults | None, call: _Operation) -> None:
    call.took = faults.kinds if faults else 0


def _gave(watch: Any, call: _Operation, results: list[Any]) -> None:
    name = _say_line(watch, call)
    faults = watch._collect(call.op_type, name, (), results, graph=watch._local.is_evaluation)
    watch.judge(faults, _judge, watch, call, name,
                (call.took != 0 or watch._later is not None) and any(map(is_float, results)))


def _judge(faults: Faults | None, watch: Any, call: _Operation, name: str, is_floating: bool) -> None:
    if not faults:
        if call.took and watch._course.pending is not None and is_floating:
            watch._course.end(f"{call.name}/forward")
    elif call.took & NAN or call.took == faults.kinds:
        watch._course.pass_on()
    else:
        if not call.took and not call.in_loss and any(each.is_only_held for each in watch._local.calls[-1:]):
            watch._course.set_aside()  # what lies in a container is another fault
        new = watch._note("loss" if call.in_loss else "forward", faults, call.op_type, name, "output")
        if call.in_loss and (first := watch._course.later("loss")) is not None and first.op_name == name:
            new = first
        if new is None:
            return
        if call.took and watch._course.pending is not None:  # an Inf that became NaN
            watch._course.pending.kind = "NaN"
            return
        new.operation = call.op_type
        if not call.took and call.empty:  # it has no row
            where = {"file": call.where[0], "line": call.where[1]} if call.where is not None else {}
            watch._journal.say("zoom", iteration=watch.iteration, op_name=name, result="found", operation=call.op_type, inside="",
                               given=call.empty, why="it was given a tensor without elements", **where)
        if not call.in_loss and faults.kinds == INF and any(word in call.op_type for word in _WRITERS):
            watch._course.writes_inf(name)
        if call.where is not None:
            new.file, new.line = call.where[:2]


def _judge_gradient(faults: Faults | None, watch: Any, op_type: str, name: str, io: str) -> None:
    if not faults:
        return
    is_first = not watch._course.has_fault_of_backward
    watch._note("backward", faults, op_type, name, io)
    if is_first and io == "input":
        watch._gradients.suspect_hooks(name, faults.kinds)


class _GradientOfNode:
    __slots__ = ("_watch", "_op_type", "_name", "of_modules")

    def __init__(self, watch: Any, op_type: str, name: str) -> None:
        self._watch, self._op_type, self._name = watch, op_type, name
        self.of_modules: list[Any] = []  # hooks that come before

    def __call__(self, gave: Any, given: Any) -> None:
        for hook in self.of_modules:
            hook(gave, given)
        watch = self._watch
        try:
            if not watch._gradients.is_running:
                watch._gradients.begin()
            if watch.active and not watch._local.is_silent:
                for io, gradients in (("input", given), ("output", gave)):
                    if any(each is not None for each in gradients):
                        if faults := watch._collect(self._op_type, self._name, **{f"{io}s": list(gradients)}):
                            watch.judge(faults, _judge_gradient, watch, self._op_type, self._name, io)
        except Exception as fault:
            say_fault(fault)
