"""A watch beside torch.compile: what torch traces is not watched, and steps that are measured run without it."""
import sys
from typing import Any

_TRACERS = {"FakeTensorMode", "ProxyTorchDispatchMode", "FunctionalTensorMode", "PreDispatchTorchFunctionMode"}


def compiling_of_torch() -> Any:
    """torch.compiler.is_compiling, which dynamo knows: behind it no instruction of ours is compiled."""
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
    return any(type(each).__name__ == "Proxy" and type(each).__module__.startswith("torch.fx") for each in arguments)


def is_transformed() -> bool:
    """Whether a transform of torch.func runs, such as grad or vmap: its tensors are wrapped, and have no graph of ours."""
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
    """Nothing is compiled, and nothing compiled runs, while somebody holds this. Then what the caller had set holds again."""

    def __init__(self) -> None:
        self._holders: set[int] = set()
        self._mine: Any = None

    def hold(self, holder: object) -> bool:
        """Whether it holds."""
        if id(holder) in self._holders:
            return True
        if not is_used() or not has_stance():
            return False
        if self._mine is None:
            try:
                self._mine = sys.modules["torch"].compiler.set_stance("force_eager")
            except RuntimeError:  # inside of a compiled call
                return False
        self._holders.add(id(holder))
        return True

    def leave(self, holder: object) -> None:
        self._holders.discard(id(holder))
        if self._mine is None or self._holders:
            return
        mine, self._mine = self._mine, None
        frames = sys.modules["torch._dynamo.eval_frame"]
        if getattr(frames, "_stance", mine.stance) is mine.stance:  # else the caller has set another since
            mine.__exit__(None, None, None)


STANCE = Stance()
