"""Hooks of a watch. They are torch's global ones, not the modules' own. So a pickled, copied or scripted module has nothing of the watch,
and a copy is not watched."""
import contextlib
import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from ._compiled import STANCE, callback_of_dynamo, compiling_of_torch, for_autograd, skip
from ._library import logger
from ._modes import HERE, below_modes, has_modes, resume, suspend
from ._tensors import is_dtensor, is_lazy


class ModuleHooks:
    """Calls before(module, place, arguments) and behind(module, place, arguments, outputs) around each call of the modules that it
    has a place for, or give_up(module) where an Exception ends the call (torch 2.1 on). What they raise is said once and never reaches the
    caller. They do nothing while torch traces."""

    def __init__(self, before: Callable[..., Any], behind: Callable[..., Any], give_up: Callable[[Any], Any]) -> None:
        self._before, self._behind, self._give_up = before, behind, give_up
        self._places: dict[int, tuple[Any, Any]] = {}  # by the id of the module, which is held weakly
        self._handles: list[tuple[Any, Any]] = []  # with their hooks
        self._is_on = [False]
        self._stand_ins: list[int] = []
        self.is_eager = False  # whether torch.compile is off while the hooks are on
        self.tracer: Any = None  # a _graph.Tracer, where graphs that are compiled while the hooks are on have rows

    def add(self, module: Any, place: Any) -> None:
        """Under the first name, where several hold it."""
        if not self.has(module):
            self._places[id(module)] = (weakref.ref(module), place)

    def has(self, module: Any) -> bool:
        known = self._places.get(id(module))
        return known is not None and known[0]() is module

    @property
    def count(self) -> int:
        return len(self._places)

    @property
    def places(self) -> dict[int, tuple[Any, Any]]:
        return self._places

    def stand_in(self, modules: Sequence[tuple[Any, Any]]) -> None:
        """Copies have the places of their originals until the next call; [] takes them away."""
        for each in self._stand_ins:
            self._places.pop(each, None)
        self._stand_ins = []
        for module, copy in modules:
            if (known := self._places.get(id(module))) is not None and known[0]() is module:
                self._places[id(copy)] = (weakref.ref(copy), known[1])
                self._stand_ins.append(id(copy))

    def start(self) -> None:
        self._is_on[0] = True
        self._hold()
        if not self._handles:
            hooks = sys.modules["torch.nn.modules.module"]
            before, behind = self._functions() if self.tracer is None else self.tracer.hooks(*self._functions())
            skip(before, behind)
            always = {"always_call": True} if hasattr(hooks, "_global_forward_hooks_always_called") else {}  # a checkpoint ends calls early
            self._handles = [(hooks.register_module_forward_pre_hook(before), before),
                             (hooks.register_module_forward_hook(behind, **always), behind)]
        for handle, hook in self._handles:  # under the same number: a graph that was compiled with them knows them by it
            known = handle.hooks_dict_ref()
            if handle.id not in known:
                known[handle.id] = hook
                for later in [each for each in known if each > handle.id]:  # the caller's hooks keep the order of the first step
                    known[later] = known.pop(later)
            for extra in getattr(handle, "extra_dict_ref", ()):  # since torch 2.0: the hooks that torch always calls
                extra()[handle.id] = True

    def _hold(self) -> None:
        self.is_eager = STANCE.hold(self, self.tracer)

    def _functions(self) -> tuple[Callable[..., None], Callable[..., None]]:
        places, enter, leave, give_up = self._places, self._before, self._behind, self._give_up
        is_on, is_compiling, nothing = self._is_on, compiling_of_torch(), contextlib.nullcontext()
        modules = sys.modules
        set_callback = callback_of_dynamo()  # as frames of their own these run, and nothing that they call is compiled

        # Dynamo reads the first condition alone: nothing else of these is compiled, and their state makes it compile nothing again.
        def before(module: Any, arguments: Any) -> None:
            if is_compiling() or not is_on[0]:
                return
            if not self.is_eager and self.tracer is None and "torch._dynamo" in modules:  # a module may be compiled since start()
                self._hold()
            entry = places.get(id(module))
            if entry is not None and entry[0]() is module:
                callback = set_callback(None)
                try:
                    with below_modes() if has_modes() else nothing:
                        enter(module, entry[1], arguments)
                except Exception as fault:
                    say_fault(fault)
                finally:
                    set_callback(callback)
            elif HERE.mode is not None:
                suspend(module)

        def behind(module: Any, arguments: Any, outputs: Any) -> None:
            if is_compiling() or not is_on[0]:
                return
            entry = places.get(id(module))
            if entry is not None and entry[0]() is module:
                callback = set_callback(None)
                try:
                    if sys.exc_info()[1] is not None and _has_raised(sys._getframe(1)):
                        give_up(module)
                    else:
                        with below_modes() if has_modes() else nothing:
                            leave(module, entry[1], arguments, outputs)
                except Exception as fault:
                    say_fault(fault)
                finally:
                    set_callback(callback)
            elif HERE.suspended is not None:
                resume(module)

        return before, behind

    def stop(self) -> None:
        """Stops until start(). torch.compile asks of each graph which global hooks exist: a graph compiled meanwhile is the caller's own,
        and stays valid after the watch."""
        self._is_on[0] = False
        STANCE.leave(self)
        for handle, _ in self._handles:
            handle.remove()

    def close(self) -> None:
        self.stop()
        self._handles = []


_said: set[str] = set()


def say_fault(fault: Exception) -> None:
    """Reports a fault of a hook; training continues."""
    words = f"{type(fault).__name__}: {fault}"[:300]
    if words not in _said and len(_said) < 20:
        _said.add(words)
        logger.warning("a module is not watched here, and training goes on: %s", words, exc_info=fault)


def _has_raised(frame: FrameType | None) -> bool:
    """Whether an exception ends the module's call. `frame` called the hook. An exception that is handled around the call was caught in a
    frame further up."""
    while frame is not None and frame.f_code.co_name not in ("_call_impl", "inner"):
        frame = frame.f_back
    trace = sys.exc_info()[2]
    return trace is not None and trace.tb_frame is frame


def is_called_again(module: Any) -> bool:
    """Whether a call of this module runs around the one that begins."""
    frame: FrameType | None = sys._getframe(1)
    count = 0
    while frame is not None and count < 2:
        count += frame.f_code.co_name == "_call_impl" and frame.f_locals.get("self") is module
        frame = frame.f_back
    return count == 2


def drop_left(calls: list[Any]) -> None:
    """Takes off the innermost open calls that an exception has left without a word: torch 2.1 and later tell of an Exception, and none of
    KeyboardInterrupt. A call that is still open has torch's frame around the one that begins."""
    begins = _frame_of_call(sys._getframe(1)) if calls else None
    while calls and begins is not None and not _runs(calls[-1].module, begins.f_back):
        calls.pop()


def _frame_of_call(frame: FrameType | None) -> FrameType | None:
    while frame is not None and frame.f_code.co_name != "_call_impl":
        frame = frame.f_back
    return frame


def _runs(module: Any, frame: FrameType | None) -> bool:
    while (call := _frame_of_call(frame)) is not None:
        if call.f_locals.get("self") is module:
            return True
        frame = call.f_back
    return False


def tells_of_exceptions() -> bool:
    """Whether torch calls a hook behind a module that an Exception ends."""
    return hasattr(sys.modules["torch.nn.modules.module"], "_global_forward_hooks_always_called")


def keywords_of_call(frame: FrameType | None) -> dict[str, Any]:
    """The keyword arguments of a module's call. `frame` called the hook. Torch passes them to a module's own hooks, which are copied and
    pickled with it, but to no global hook before a call. So they are read from torch's frame. If torch names it otherwise,
    planted_faults_test fails: some of its models are called by keyword."""
    for _ in range(6):
        if frame is None:
            break
        if frame.f_code.co_name in ("_call_impl", "inner"):
            keywords = frame.f_locals.get("kwargs")
            if isinstance(keywords, Mapping):
                return dict(keywords)
        frame = frame.f_back
    return {}


class Accumulation:
    """Calls hook(parameter, gradients) when the parameter's gradient was added up, from begin() to the end of the step at least. The hook is
    the tensor's, and has no `gradients`. A node's has them, but a node keeps the shape and the stream of when it was made, and while it is
    held each backward runs it. So a node is held for a step only, and only where the tensor's hook is not enough: before torch 2.1; if the
    caller has such a hook, which may take the gradient; and for this rank's `own` gradient, because other ranks' may be in .grad."""

    def __init__(self, parameter: Any, hook: Callable[..., None], own: bool = False) -> None:
        self.parameter, self._hook, self._own = parameter, hook, own
        self._of_tensor: Any = None
        self._node: Any = None
        self._of_node: Any = None

    def begin(self) -> bool:
        """Whether it is to be ended with the step."""
        parameter = self.parameter
        hooks = getattr(parameter, "_post_accumulate_grad_hooks", None)
        if self._of_tensor is not None and hooks is not None and len(hooks) == 1:
            return False
        if is_lazy(parameter) or not parameter.requires_grad:
            return False
        is_flat = getattr(parameter, "_is_flat_param", False) or type(parameter).__name__ == "FlatParameter"  # FSDP1's: whole in a forward only
        has_others = hooks is not None and not all(hasattr(each, "of_tensorstat") for each in hooks.values())
        needs_node = has_others or self._own and not is_dtensor(parameter)
        if hasattr(parameter, "register_post_accumulate_grad_hook") and (is_flat or not needs_node):
            if self._of_tensor is None:
                called = for_autograd(self._guarded)
                called.of_tensorstat = True  # type: ignore[attr-defined]
                with sys.modules["torch"]._C.DisableTorchFunction():
                    self._of_tensor = parameter.register_post_accumulate_grad_hook(called)
            return False
        self.remove()
        if is_flat:
            return False
        try:
            self._node = node_of_leaf(parameter)
            self._of_node = self._node.register_hook(for_autograd(self._guarded))
        except Exception as fault:  # of one that torch cannot use so: the others are waited for
            say_fault(fault)
            return False
        return True

    def _guarded(self, _: Any, gradients: Any = ()) -> None:
        try:
            if is_dtensor(self.parameter) and not _accumulates():
                return  # FSDP2 calls a tensor's hooks itself, behind the sum of the ranks
            self._hook(self.parameter, gradients)
        except Exception as fault:
            say_fault(fault)

    def end(self) -> None:
        """The step is over."""
        if self._of_node is not None:
            self._of_node.remove()
            self._node = self._of_node = None

    def remove(self) -> None:
        self.end()
        if self._of_tensor is not None:
            self._of_tensor.remove()
            self._of_tensor = None


def node_of_leaf(tensor: Any) -> Any:
    """The node that adds up the gradient of a leaf."""
    with sys.modules["torch"].enable_grad():
        try:
            made = tensor.expand_as(tensor)
        except RuntimeError:  # sparse, or nested
            made = tensor.clone()
        return made.grad_fn.next_functions[0][0]


def _accumulates() -> bool:
    """Whether the node of autograd that runs adds up a gradient."""
    node = getattr(sys.modules["torch"]._C, "_current_autograd_node", lambda: None)()
    return node is None or "AccumulateGrad" in node.name()


_open: "weakref.WeakSet[Any]" = weakref.WeakSet()  # watches of this process


def leave_in_fork(watch: Any) -> None:
    """A forked process, such as a DataLoader's worker, does not watch."""
    _open.add(watch)


def _forked() -> None:
    for watch in list(_open):
        watch._abandon()


os.register_at_fork(after_in_child=_forked)
