"""Copies of all that a call may write to. The call is run again on these copies, and no object of the caller's is touched: a
module's copy has its class and copies of its attributes, parameters share their elements. What cannot be copied with its
whole state, such as an iterator, a file or a lock, is refused."""
import collections
import enum
import functools
import pathlib
import random
import re
import sys
import weakref
from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ._tensors import is_dtensor, is_freed, local_of

_MOST = 100_000  # elements of containers
_MOST_OF_SKELETON = 1000  # it is made in each step
_ATOMS = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), slice, range)
_TORCHS = ("dtype", "device", "layout", "memory_format", "Size", "finfo", "iinfo")
CONTAINERS = (list, dict, set, collections.OrderedDict, collections.deque, collections.defaultdict, collections.Counter)


class Unknown(Exception):
    """An object cannot be copied. The words say which."""


def is_atom(value: Any) -> bool:
    """Whether nobody can write to it."""
    if type(value) in _ATOMS or isinstance(value, (enum.Enum, pathlib.PurePath, re.Pattern)):
        return True
    kind, torch = type(value), sys.modules["torch"]
    if kind in (getattr(torch, name) for name in _TORCHS):
        return True
    return kind in (tuple, frozenset) and all(is_atom(each) for each in value)


class Shadow:
    """The copies of one run, each made once."""

    def __init__(self) -> None:
        self.parameters: dict[int, Any] = {}  # by the ids of their originals
        self.originals: list[Any] = []  # of the parameters
        self.modules: list[tuple[Any, Any]] = []  # original and copy
        self.clones: list[Any] = []  # tensors with elements of their own
        self._copies: dict[int, Any] = {}
        self._kept: list[Any] = []  # originals and copies: none gets the id of another
        self.ids: set[int] = set()  # of the copies
        self._count = 0

    def has(self, value: Any) -> bool:
        return id(value) in self.ids

    def of(self, value: Any, is_state: bool = False) -> Any:
        """A copy. `is_state`: an attribute of a module, which the call may write to; else elements of tensors are shared."""
        if is_atom(value):
            return value
        if id(value) in self._copies:
            return self._copies[id(value)]
        torch = sys.modules["torch"]
        kind = type(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value, is_state)
        if isinstance(value, torch.nn.Module):
            return self._module(value)
        if kind in CONTAINERS or kind in (tuple, frozenset) or isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._container(value, is_state)
        if isinstance(value, (FunctionType, type)) or isinstance(value, BuiltinFunctionType) and is_of_module(value):
            return value  # _guard checks their effects
        if kind is MethodType:
            return self._keep(value, MethodType(value.__func__, self.of(value.__self__, is_state)))
        if kind is functools.partial and not vars(value):
            given = [self.of(each, is_state) for each in value.args]
            named = {key: self.of(each, is_state) for key, each in value.keywords.items()}
            return self._keep(value, functools.partial(self.of(value.func, is_state), *given, **named))
        if kind is torch.Generator:
            copy = torch.Generator(value.device)
            copy.set_state(value.get_state())
            return self._keep(value, copy)
        if kind is weakref.ref:
            return value if (target := value()) is None else self._keep(value, weakref.ref(self.of(target, is_state)))
        if kind is random.Random:
            generator = random.Random()
            generator.setstate(value.getstate())
            return self._keep(value, generator)
        if isinstance(value, ModuleType) and value.__name__.partition(".")[0] in ("torch", "math", "cmath"):
            return value
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            return value
        if numpy is not None and kind is numpy.ndarray and not value.dtype.hasobject:
            return self._keep(value, value.copy())
        return self._object(value, is_state)

    def _keep(self, value: Any, copy: Any) -> Any:
        self._copies[id(value)] = copy
        self.ids.add(id(copy))
        self._kept += value, copy
        return copy

    def _counted(self, values: Iterable[Any], is_state: bool) -> Iterable[Any]:
        for each in values:
            self._count += 1
            if self._count > _MOST:
                raise Unknown(f"it holds more than {_MOST} objects")
            yield self.of(each, is_state)

    def _container(self, value: Any, is_state: bool) -> Any:
        kind = type(value)
        if kind in (list, set, collections.deque):
            if kind is collections.deque:
                copy = self._keep(value, collections.deque(maxlen=value.maxlen))
            else:
                copy = self._keep(value, kind())
            add = copy.add if kind is set else copy.append
            for each in self._counted(list(value), is_state):
                add(each)
            return copy
        if isinstance(value, dict):
            of_kind: Any = kind
            copy = self._keep(value, of_kind(getattr(value, "default_factory")) if kind is collections.defaultdict else of_kind())
            for key, each in list(value.items()):
                (of_key,) = self._counted((key,), is_state)
                copy[of_key] = self.of(each, is_state)
            return copy
        made = list(self._counted(value, is_state))
        return self._keep(value, tuple.__new__(kind, made) if isinstance(value, tuple) else kind(made))

    def _tensor(self, value: Any, is_state: bool) -> Any:
        torch = sys.modules["torch"]
        if type(value) in (torch.Tensor, torch.nn.Parameter) and is_freed(value):
            raise Unknown("the memory of a tensor that it holds was freed")
        if is_dtensor(value) and isinstance(value, torch.nn.Parameter) and (whole := local_of(value)).shape == value.shape:
            copy = self.parameters[id(value)] = torch.nn.Parameter(whole.detach(), requires_grad=value.requires_grad)
        elif type(value) is torch.nn.Parameter:
            self.originals.append(value)
            copy = self.parameters[id(value)] = torch.nn.Parameter(value.detach(), requires_grad=value.requires_grad)
        elif type(value) is not torch.Tensor:
            return value  # its own class says what can be done with it; _guard lets nothing write to it
        else:
            is_owned = is_state and value.grad_fn is None
            copy = (value.detach().clone() if is_owned else value.detach()).requires_grad_(value.requires_grad)
            if is_owned:
                self.clones.append(copy)
        self._keep(value, copy)
        if attributes := vars(value):
            copy.__dict__.update((key, self.of(each, is_state)) for key, each in attributes.items())
        return copy

    def _module(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        kind: Any = type(value)
        if kind.__name__ == "OptimizedModule":  # torch.compile's
            return self.of(value._orig_mod)
        if isinstance(value, torch.jit.ScriptModule):
            raise Unknown(f"{kind.__name__} is scripted")
        if kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__del__"):
            raise Unknown(f"{kind.__name__} has a {'__del__' if hasattr(kind, '__del__') else '__getattribute__'} of its own")
        copy = self._keep(value, object.__new__(kind))
        self.modules.append((value, copy))
        attributes = copy.__dict__
        for key, each in value.__dict__.items():
            attributes[key] = self._attribute(key, each)
        return copy

    def _attribute(self, key: str, value: Any) -> Any:
        if key.endswith("_hooks") and isinstance(value, dict):
            keeps = key == "_forward_pre_hooks"
            return type(value)((name, self.of(hook)) for name, hook in value.items()
                               if keeps and (getattr(hook, "__module__", "") or "").startswith("torch.nn.utils"))
        if key == "_compiled_call_impl" or key.startswith("_forward_hooks_") or key.startswith("_forward_pre_hooks_"):
            return None if key == "_compiled_call_impl" else type(value)()
        if key.startswith("__composable_api_state_key"):  # fully_shard's: the hooks that use it are left out
            return type(value)((name, None if _only_gathers(each) else self.of(each, True)) for name, each in value.items())
        if key == "_buffers":
            return type(value)((name, self.of(each, True)) for name, each in value.items())
        return self.of(value, True)

    def _object(self, value: Any, is_state: bool) -> Any:
        """One with attributes alone: no part of it lies in C."""
        kind = type(value)
        is_plain = kind.__basicsize__ <= object.__basicsize__ + 16 and kind.__itemsize__ == 0 and hasattr(value, "__dict__")
        if not is_plain or hasattr(kind, "__del__") or any(_slots(each) for each in kind.__mro__):
            raise Unknown(f"an object of type {kind.__module__}.{kind.__qualname__} cannot be put back")
        try:
            copy = self._keep(value, object.__new__(kind))
        except TypeError:
            raise Unknown(f"an object of type {kind.__module__}.{kind.__qualname__} cannot be put back") from None
        (_,) = self._counted((None,), is_state)
        attributes = object.__getattribute__(copy, "__dict__")
        for key, each in object.__getattribute__(value, "__dict__").items():
            attributes[key] = self.of(each, is_state)
        return copy


def _only_gathers(state: Any) -> bool:
    """Whether a call without the hooks of this state of fully_shard is the same one, where the parameters are there as a whole."""
    policy = getattr(state, "_mp_policy", None)
    if type(state).__name__ != "FSDPState" or policy is None:
        return False
    if policy.param_dtype is not None or policy.output_dtype is not None:
        raise Unknown("fully_shard casts parameters there, and without its hooks the call is another one")
    return True


class Skeleton(Shadow):
    """Copies of containers and of objects with attributes alone. Tensors, modules and functions are shared, and nothing of the caller's
    is called."""

    def of(self, value: Any, is_state: bool = False) -> Any:
        if self._count > _MOST_OF_SKELETON:
            raise Unknown(f"it holds more than {_MOST_OF_SKELETON} objects")
        torch = sys.modules["torch"]
        kind = type(value)
        if is_atom(value) or isinstance(value, (torch.Tensor, torch.nn.Module, FunctionType, type)):
            return value
        if id(value) in self._copies:
            return self._copies[id(value)]
        if kind in CONTAINERS or kind is tuple or isinstance(value, tuple) and hasattr(kind, "_fields"):
            if isinstance(value, (dict, set)) and not all(map(is_atom, value)):
                raise Unknown("a key of the caller's own is compared by his code")
            return self._container(value, is_state)
        if kind.__getattribute__ is not object.__getattribute__ or not kind.__dictoffset__:
            raise Unknown(f"the attributes of {kind.__name__} are not known without its code")
        return self._object(value, is_state)


def _slots(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [each for each in ((slots,) if isinstance(slots, str) else slots) if each not in ("__dict__", "__weakref__")]


def is_of_module(function: Any) -> bool:
    """Whether a function in C belongs to a module or a class, and not to an object."""
    return function.__self__ is None or isinstance(function.__self__, (ModuleType, type))
