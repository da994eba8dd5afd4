"""A watch beside torch.compile: what torch traces is not watched, and steps that are measured run without it."""
import contextlib
import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

_TRACERS = {"FakeTensorMode", "ProxyTorchDispatchMode", "FunctionalTensorMode", "PreDispatchTorchFunctionMode"}


@functools.cache
def compiling_of_torch() -> Any:
    """torch.compiler.is_compiling, which dynamo knows: instructions behind such a test are not compiled."""
    torch = sys.modules["torch"]
    return getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # before torch 2.1 bool(), which is False


def is_tracing(arguments: Any = ()) -> bool:
    """Whether torch records or tries what runs, and no tensor has values: jit.trace, make_fx, export, fake tensors, fx."""
    torch = sys.modules["torch"]
    if torch._C._get_tracing_state() is not None:
        return True
    if hasattr(torch._C, "_len_torch_dispatch_stack") and torch._C._len_torch_dispatch_stack():
        modes = sys.modules["torch.utils._python_dispatch"]._get_current_dispatch_mode_stack()
        if any(type(each).__name__ in _TRACERS for each in modes):
            return True
    return any(_is_proxy(type(each)) for each in arguments)


def _is_proxy(kind: type) -> bool:
    return (kind.__name__ == "Proxy" and kind.__module__.startswith("torch.fx")
            or kind.__name__ == "FakeTensor" and kind.__module__.startswith("torch._subclasses"))


def is_transformed() -> bool:
    """Whether a transform of torch.func runs, such as grad or vmap: its tensors are wrapped, and their graph is not the watch's."""
    functorch = getattr(sys.modules["torch"]._C, "_functorch", None)
    return functorch is not None and hasattr(functorch, "peek_interpreter_stack") and functorch.peek_interpreter_stack() is not None


def is_used() -> bool:
    """Whether the process has compiled, or has asked for it."""
    dynamo = sys.modules.get("torch._dynamo")
    frames = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is None or frames is None:
        return False
    backends = getattr(frames, "cached_backends", {})
    return any(each is not None for each in backends.values()) or bool(dynamo.utils.counters.get("frames"))


def for_autograd(hook: Callable[..., None]) -> Callable[..., None]:
    """Returns `hook` for a node of autograd. Compiled autograd traces a node's hooks, and passes this one over. A backward may run inside
    of a compiled function: dynamo does not compile the hook or its callees there."""
    is_compiling, set_callback = compiling_of_torch(), callback_of_dynamo()

    def called(*arguments: Any) -> None:
        if is_compiling():
            return
        callback = set_callback(None)
        try:
            hook(*arguments)
        finally:
            set_callback(callback)
    skip(called)
    return called


def backwards_compiled() -> int:
    """How often compiled autograd has traced a backward in this process."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters.get("compiled_autograd", {}).get("captures", 0))


def skip(*functions: Callable[..., Any]) -> None:
    """As frames of their own, which dynamo does not trace from another, these run uncompiled."""
    if (frames := sys.modules.get("torch._dynamo.convert_frame")) is not None:
        for code in {each.__code__ for each in functions} - _skipped:
            _skipped.add(code)
            if not sys.modules["torch._C._dynamo.eval_frame"]._debug_get_cache_entry_list(code):  # else it may be running
                frames.skip_code(code)


_skipped: set[Any] = set()


@functools.cache
def callback_of_dynamo() -> Callable[[Any], Any]:
    """Sets what compiles the frames of this thread, None for nothing, and returns what did."""
    return getattr(sys.modules.get("torch._C._dynamo.eval_frame"), "set_eval_frame", lambda _: None)


def has_stance() -> bool:
    return hasattr(getattr(sys.modules["torch"], "compiler", None), "set_stance")


def is_compiled(module: Any) -> bool:
    """Whether it is what torch.compile put around a module, and steps that are measured see the module inside. Without a stance
    (before torch 2.6) only the outer one is seen."""
    kind = type(module)
    return kind.__name__ == "OptimizedModule" and kind.__module__.startswith("torch._dynamo") and has_stance()


def inner_of(module: Any) -> Any:
    """The module that torch.compile was given."""
    while is_compiled(module):
        module = module._orig_mod
    return module


def name_in_model(name: str) -> str:
    """A module's or parameter's name as it is without torch.compile, which puts `_orig_mod` into it."""
    return ".".join(each for each in name.split(".") if each != "_orig_mod") if "_orig_mod" in name and has_stance() else name


class Stance:
    """While somebody holds this, nothing is compiled, and nothing compiled runs; or, if all who hold it have a tracer, graphs
    with their marks run. Then what the caller had set holds again."""

    def __init__(self) -> None:
        self._holders: dict[int, Any] = {}  # their tracers
        self._mine: Any = None
        self._backend: Any = None  # None: nothing compiled runs
        self._filter: Any = None  # torch 2.14 warns of global hooks; where warnings are errors this would end the training

    def hold(self, holder: object, tracer: Any = None) -> bool:
        """Whether nothing compiled runs."""
        if id(holder) not in self._holders or self._holders[id(holder)] is not tracer:
            if tracer is None and not is_used() or not has_stance():
                return False
            self._holders[id(holder)] = tracer
            if not self._set():
                del self._holders[id(holder)]
                return False
        return self._mine is not None and self._backend is None

    def leave(self, holder: object) -> None:
        self._holders.pop(id(holder), None)
        if self._mine is not None and not (self._holders and self._set()):
            self._put_back()

    @contextlib.contextmanager
    def eagerly(self) -> Iterator[bool]:
        """Nothing compiled runs inside. False: it may."""
        if self._backend is None:
            yield True
            return
        try:
            mine = sys.modules["torch"].compiler.set_stance("force_eager")
        except RuntimeError:  # inside of a compiled call
            yield False
            return
        try:
            yield True
        finally:
            mine.__exit__(None, None, None)

    def _set(self) -> bool:
        tracers = list(self._holders.values())
        backend = None
        if all(each is not None for each in tracers) and (self._backend is not None or _is_default()):
            from ._graph import backend_of
            backend = backend_of(frozenset(each.number for each in tracers))
        if self._mine is not None and backend is self._backend:
            return True
        self._put_back()
        set_stance, frames = sys.modules["torch"].compiler.set_stance, sys.modules["torch._dynamo.eval_frame"]
        try:
            self._mine = set_stance("force_eager") if backend is None else set_stance("default", force_backend=backend)
        except RuntimeError:  # inside of a compiled call
            return False
        self._mine.stance = frames._stance = _ButForExport(self._mine.stance)  # type: ignore[attr-defined]
        self._backend = backend
        warnings.filterwarnings("ignore", "Using `torch.compile\\(module\\)` when there are global hooks", UserWarning)
        self._filter = warnings.filters[0]
        return True

    def _put_back(self) -> None:
        if self._mine is None:
            return
        mine, self._mine, self._backend = self._mine, None, None
        with contextlib.suppress(ValueError):  # the caller has put other filters there
            warnings.filters.remove(self._filter)  # type: ignore[attr-defined]  # a list
        frames = sys.modules["torch._dynamo.eval_frame"]
        if getattr(frames, "_stance", mine.stance) is mine.stance:  # else the caller has set another since
            mine.__exit__(None, None, None)


class _ButForExport:
    """A stance for torch.compile alone. torch.export traces by dynamo, too, and would fail without it."""

    def __init__(self, stance: Any) -> None:
        self._stance = stance

    def __getattr__(self, name: str) -> Any:
        callback = sys._getframe(1).f_locals.get("callback")
        while callback is not None and not getattr(callback, "_export", False):
            callback = getattr(callback, "_torchdynamo_orig_backend", None) or getattr(callback, "_torchdynamo_orig_callable", None)
        return getattr(self._stance if callback is None else type(self._stance)(), name)


def _is_default() -> bool:
    stance = getattr(sys.modules["torch._dynamo.eval_frame"], "_stance", None)
    return getattr(stance, "stance", "") == "default" and getattr(stance, "backend", None) is None


STANCE = Stance()
