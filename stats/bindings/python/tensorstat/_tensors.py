"""Where the tensors are in what a module is given and gives."""
import dataclasses
import enum
import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from . import _native

_DEEPEST, _MOST = 40, 20_000  # levels, and objects that are looked at
_TOO_DEEP = f"what is nested deeper than {_DEEPEST} levels is not looked at"
_PLAIN = (str, bytes, bytearray, int, float, complex, bool, type(None), type, enum.Enum, slice, range, type(Ellipsis),
          FunctionType, BuiltinFunctionType, MethodType, ModuleType)


class Contents:
    """The tensors in a value, in their order, and words for what could not be looked into."""
    __slots__ = ("tensors", "unknown", "ways", "is_asked")

    def __init__(self, is_asked: bool = False) -> None:
        self.tensors: list[Any] = []
        self.unknown: list[str] = []
        self.ways: list[tuple[str, ...]] = []  # to each tensor: the keys of the containers around it, the outermost first
        self.is_asked = is_asked


def can_be_walked(value: Any, around: tuple[Any, ...]) -> bool:
    """Whether a walk that follows containers may enter this one. False at one that holds itself, or is nested deeper than
    anyone looks. `around` has the containers on the way to it, the outermost first."""
    return len(around) <= _DEEPEST and all(value is not each for each in around)


def is_float(tensor: Any) -> bool:
    """Whether it may hold a NaN."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def tensors_in(value: Any) -> list[Any]:
    tensor = sys.modules["torch"].Tensor
    if isinstance(value, tensor):
        return [value]
    if type(value) is tuple and len(value) == 1 and isinstance(value[0], tensor):  # most calls
        return [value[0]]
    return look_into(value).tensors


def look_into(value: Any) -> Contents:
    """Lists, tuples, dicts and mappings, sets, what torch's pytree knows, instances of dataclasses and of attrs, and the
    attributes of simple objects. Nothing of the caller's is called but his properties: generators are left alone."""
    contents = Contents()
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        contents.tensors.append(value)
        return contents
    if type(value) in (tuple, list):  # most calls
        tensors = [each for each in value if isinstance(each, torch.Tensor)]
        if len(tensors) + sum(each is None for each in value) == len(value):
            contents.tensors = tensors
            return contents
    _look(value, contents, torch, {}, ())
    return contents


def ways_in(value: Any) -> list[tuple[str, ...]]:
    """Where each tensor of tensors_in() is: its keys, indices and attributes, the outermost first. () of a tensor itself."""
    contents = Contents(is_asked=True)
    _look(value, contents, sys.modules["torch"], {}, ())
    return contents.ways


def _look(value: Any, contents: Contents, torch: Any, seen: dict[int, Any], way: tuple[Any, ...]) -> None:
    if isinstance(value, torch.Tensor):
        contents.tensors.append(value)
        if contents.is_asked:
            contents.ways.append(tuple(str(each)[:80] if type(each) in (str, int) else "?" for each in way))
        return
    if isinstance(value, _PLAIN) or id(value) in seen:
        return
    if len(way) > _DEEPEST or len(seen) > _MOST:
        if _TOO_DEEP not in contents.unknown:
            contents.unknown.append(_TOO_DEEP)
        return
    seen[id(value)] = value  # kept, so that no other gets its id
    try:
        children = _children(value, torch)
    except Exception:  # a property of the caller's
        children = None
    if children is None:
        contents.unknown.append(f"an object of type {type(value).__name__} is not understood")
        return
    for key, each in children:
        _look(each, contents, torch, seen, (*way, key))


def _children(value: Any, torch: Any) -> "list[tuple[Any, Any]] | None":
    """Each with its key. None of what is not understood."""
    if isinstance(value, (list, tuple, set, frozenset)):
        fields = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
        return list(zip(fields, value) if isinstance(fields, tuple) and len(fields) == len(value) else enumerate(value))
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Generator, torch.nn.Module)):
        return []
    if isinstance(value, Iterator):
        return None
    nodes = getattr(sys.modules.get("torch.utils._pytree"), "SUPPORTED_NODES", {})
    if type(value) in nodes:
        return list(enumerate(nodes[type(value)].flatten_fn(value)[0]))
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    if hasattr(type(value), "__attrs_attrs__"):
        return [(field.name, getattr(value, field.name)) for field in type(value).__attrs_attrs__]
    slots = [name for each in type(value).__mro__ for name in _names(getattr(each, "__slots__", ()))]
    attributes = getattr(value, "__dict__", None)
    if attributes is None and not slots:
        return [] if type(value).__module__ in ("builtins", "numpy") else None
    return [*(attributes or {}).items(), *((each, getattr(value, each)) for each in slots if hasattr(value, each))]


def _names(slots: Any) -> list[str]:
    names = [slots] if isinstance(slots, str) else list(slots)
    return [each for each in names if each not in ("__dict__", "__weakref__")]


def is_lazy(parameter: Any) -> bool:
    """Whether a lazy module makes it in its first call: until then it has no values."""
    return hasattr(parameter, "materialize")


def is_dtensor(tensor: Any) -> bool:
    return hasattr(tensor, "placements") and hasattr(tensor, "to_local")


def local_of(tensor: Any) -> Any:
    """This rank's shard of a DTensor; any other tensor itself. An operation on a DTensor may be a collective, which the other
    ranks would have to join: what looks at values looks at this."""
    if not is_dtensor(tensor):
        return tensor
    with sys.modules["torch"].no_grad():
        local = tensor.to_local()
    return local.trigger_wait() if hasattr(local, "trigger_wait") else local


def elements_of(tensor: Any) -> Any:
    """The tensor of the elements that are stored: the values of a sparse tensor. Raises RuntimeError for a tensor of oneDNN."""
    torch = sys.modules["torch"]
    if tensor.layout is torch.strided:
        return tensor
    return tensor._values() if tensor.layout is torch.sparse_coo else tensor.values()


def address_of(tensor: Any) -> int:
    """The address of the elements. It is 0 where torch tells none, as of a tensor of oneDNN."""
    try:
        return int(elements_of(tensor).data_ptr())
    except RuntimeError:
        return 0


def is_freed(tensor: Any) -> bool:
    """Whether its memory, or the end of it, was taken from below it: reading it may end the process."""
    return bool(_native.is_freed(tensor))


def has_same_elements(tensor: Any, copy: Any) -> bool:
    """Of two plain tensors with one shape. NaN is the same as NaN."""
    torch = sys.modules["torch"]
    with torch.no_grad(), torch._C.DisableTorchFunction():
        tensor = tensor.detach()
        return bool(((tensor == copy) | (tensor != tensor) & (copy != copy)).all())


def is_wrapped(tensor: Any) -> bool:
    """Whether a transform of torch.func, such as vmap or grad, has wrapped it. The tensor inside has all samples."""
    functorch = getattr(sys.modules["torch"]._C, "_functorch", None)
    is_of_functorch = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return is_of_functorch is not None and bool(is_of_functorch(tensor))


def readable(tensor: Any) -> Any:
    """The tensors in a form that the engine can read: this rank's shard of a DTensor, the parts of complex numbers, the values that a
    sparse tensor holds, the integers of a quantized one, and a copy on the host for other devices."""
    torch = sys.modules["torch"]
    if is_wrapped(tensor):
        with torch._C._DisableFuncTorch():
            while is_wrapped(tensor):
                tensor = torch._C._functorch.get_unwrapped(tensor)
            return readable(tensor)
    tensor = local_of(tensor)
    tensor = (tensor.trigger_wait() if hasattr(tensor, "trigger_wait") else tensor).detach()  # an AsyncCollectiveTensor
    tensor = elements_of(tensor)
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    if not tensor.is_cpu and tensor.device.type != "meta":
        tensor = tensor.cpu()
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
