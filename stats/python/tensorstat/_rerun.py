"""A call of a module is run again, and nothing of the caller's is written: the attributes of modules are exchanged for
copies while it runs, parameters share their elements and have no hooks, the random state is put back, and an operation
that would write to a tensor that the run has not made itself ends it before it writes.
"""
import collections
import contextlib
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from ._calls import Call
from ._tensors import local_of, tensors_in
from ._verdict import INF, NAN


class Stop(BaseException):
    """Ends a run; no `except Exception` of the caller's takes it for his own."""


class Run:
    """A call that is to be run again."""
    __slots__ = ("_module", "arguments", "keywords", "versions", "buffers", "random_state")

    def __init__(self, call: Call, keywords: dict[str, Any]) -> None:
        self._module, self.arguments, self.keywords = weakref.ref(call.module), call.arguments, keywords
        self.versions, self.buffers, self.random_state = call.versions, call.buffers, call.random_state

    @property
    def module(self) -> Any:
        return self._module()

    def has_written(self, buffer: str) -> bool:
        """Whether the call itself wrote this buffer of its module: what it held before is gone."""
        return self.buffers.get(buffer) != versions_of_buffers(self.module).get(buffer)


def kinds_in(tensors: Any) -> int:
    torch = sys.modules["torch"]
    kinds = 0
    for each in tensors:
        if each is None or not (each.is_floating_point() or each.is_complex()):
            continue
        each = local_of(each).detach()
        if each.layout is not torch.strided:
            each = each._values() if each.layout is torch.sparse_coo else each.values()
        kinds |= NAN * bool(torch.isnan(each).any()) | INF * bool(torch.isinf(each).any())
    return kinds


def versions_of(arguments: Any) -> list[int]:
    return [version_of(each) for each in tensors_in(arguments)]


def versions_of_buffers(module: Any) -> dict[str, tuple[int, int]]:
    """Those of the module itself, not of modules inside."""
    return {name: (id(each), version_of(each)) for name, each in (module.__dict__.get("_buffers") or {}).items() if each is not None}


def version_of(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # one of inference mode has none
        return -1


def refusal_of(run: Run) -> str:
    """Why the call cannot be run again; "" where it can."""
    torch = sys.modules["torch"]
    if versions_of(run.arguments) != run.versions:
        return "its arguments were written in place, and what they were is gone"
    if type(run.module).__name__ == "OptimizedModule":
        return "it is compiled"
    if torch.cuda.is_initialized():
        free, whole = torch.cuda.mem_get_info()
        if free < 0.2 * whole:
            return "too little memory of the device is free"
    return ""


@contextlib.contextmanager
def as_it_was(run: Run, keep_graph: bool) -> Iterator[dict[int, Any]]:
    """Copies of the attributes of the module, and the random state of the call; yields the parameters' copies by the ids of
    their originals."""
    torch = sys.modules["torch"]
    copies: dict[int, Any] = {}

    def of_parameter(parameter: Any) -> Any:
        if parameter is None or not keep_graph:
            return parameter
        if id(parameter) not in copies:
            copies[id(parameter)] = torch.nn.Parameter(parameter.detach(), requires_grad=parameter.requires_grad)
        return copies[id(parameter)]

    def of_attribute(key: str, value: Any) -> Any:
        if key == "_parameters":
            return type(value)((name, of_parameter(each)) for name, each in value.items())
        if key == "_buffers":
            return type(value)((name, each if each is None else each.detach().clone()) for name, each in value.items())
        if key.endswith("_hooks") and isinstance(value, dict):
            keeps = key == "_forward_pre_hooks"
            return type(value)((name, hook) for name, hook in value.items()
                               if keeps and (getattr(hook, "__module__", "") or "").startswith("torch.nn.utils"))
        if isinstance(value, torch.nn.Parameter):
            return of_parameter(value)
        if isinstance(value, torch.Tensor):
            return value if value.grad_fn is not None else value.detach().clone().requires_grad_(value.requires_grad)
        if type(value) is list and any(isinstance(each, torch.nn.Parameter) for each in value):  # an RNN has such a list
            return [of_parameter(each) if isinstance(each, torch.nn.Parameter) else each for each in value]
        if type(value) in (list, dict, set, collections.OrderedDict, collections.deque, collections.defaultdict):
            return value.copy()
        return value

    modules = list(run.module.modules()) if not isinstance(run.module, torch.jit.ScriptModule) else []
    modules = [each for each in modules if not isinstance(each, torch.jit.ScriptModule)]
    kept = [(each, each.__dict__) for each in modules]
    now = torch.default_generator.get_state()
    on_device = torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None
    try:
        for each, attributes in kept:
            object.__setattr__(each, "__dict__", {key: of_attribute(key, value) for key, value in attributes.items()})
        if run.random_state is not None:
            torch.default_generator.set_state(run.random_state[0])
            if run.random_state[1] is not None:
                torch.cuda.set_rng_state(run.random_state[1])
        yield copies
    finally:
        for each, attributes in kept:
            object.__setattr__(each, "__dict__", attributes)
        torch.default_generator.set_state(now)
        if on_device is not None:
            torch.cuda.set_rng_state(on_device)


def storage_of(tensor: Any) -> int:
    """Of its storage; views share it."""
    try:
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
        return int(storage.data_ptr())
    except Exception:  # sparse, or of a kind that has none
        return id(tensor)


def values_of(arguments: Any) -> str:
    """Values of an operation's arguments, in a line."""
    torch = sys.modules["torch"]
    words = []
    for each in list(arguments)[:5]:  # as many as batch_norm has tensors
        if isinstance(each, torch.Tensor):
            values = each.detach()
            shape = f"{str(values.dtype).removeprefix('torch.')}{list(values.shape)}"
            if values.numel() == 0 or values.is_complex() or values.layout is not torch.strided:
                words.append(shape)
                continue
            values = values.double() if values.dtype is not torch.bool else values.int()
            low, high = values.min().item(), values.max().item()
            words.append(f"{shape} {low:.6g} to {high:.6g}" if values.numel() > 1 else f"{shape} {low:.6g}")
        elif isinstance(each, (int, float)) and not isinstance(each, bool):
            words.append(f"{each:.6g}")
    return ", ".join(words)


def counts_of(tensors: Any) -> str:
    torch = sys.modules["torch"]
    nans = sum(int(torch.isnan(each).sum()) for each in tensors)
    infs = sum(int(torch.isinf(each).sum()) for each in tensors)
    whole = sum(each.numel() for each in tensors)
    return ", ".join(words for count, words in ((nans, f"{nans} NaN"), (infs, f"{infs} Inf")) if count) + f" of {whole}"
