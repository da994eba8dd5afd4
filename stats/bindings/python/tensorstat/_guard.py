"""While a call is run again on copies (_shadow), other objects of the caller must not be written. Every function in Python is checked
before it begins, every function in C before it is called, and the owner of an attribute before it is written. The run ends before a write
to an existing object that cannot be put back (_before), and before any other effect that cannot be undone."""
import abc
import contextvars
import dataclasses
import functools
import gc
import logging
import re
import signal
import struct
import sys
import weakref
from collections.abc import Sequence
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from ._code import Code, Store, code_of, is_trusted_module
from ._rerun import Stop
from ._before import Before
from ._shadow import CONTAINERS, Shadow, is_atom, is_of_module
from ._tensors import tensors_in
from ._torch_state import TorchState
from ._trusted import is_below_torch, is_denied, is_of_ours, is_trusted, is_trusted_call, torch_folder

_CALLED = {"len", "isinstance", "issubclass", "getattr", "hasattr", "abs", "min", "max", "sum", "all", "any", "round", "divmod", "pow",
           "sorted", "repr", "callable", "format", "chr", "ord", "hex", "bin", "id", "hash", "iter", "next", "__build_class__"}
_C_MODULES = {"math", "cmath", "_operator", "itertools", "_functools"}
_CLASSES = {"builtins", "collections", "itertools", "functools", "typing", "types", "enum", "abc", "torch", "_collections_abc"}
_READERS = {"get", "keys", "values", "items", "copy", "index", "count", "union", "intersection", "difference", "issubset",
            "issuperset", "isdisjoint", "symmetric_difference", "most_common", "__getitem__", "__contains__", "__len__", "__iter__",
            "__eq__", "__ne__", "__or__", "__and__", "__sub__", "__reversed__", "__class_getitem__"}
_WRITERS_IN_C = {"setitem", "delitem", "iadd", "iand", "iconcat", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift",
                 "isub", "itruediv", "ixor"}  # of _operator
# In torch: functions with effects that outlive the call.
_STATE_IN_C = re.compile(r"_?set_(?!grad_enabled|fwd_grad|autocast|multithreading_enabled|torch_function|dispatch|conj|neg|to)|_?share_|"
                         r"_?save|_?unpickle|register_|_?cuda_(set|empty)|retain_grad")
_OF_COMPILER = {"set_eval_frame", "set_skip_guard_eval_unsafe"}
_MOST_OF_CONTAINER = 2000
_RANGE = type(iter(range(0)))


class Guard:
    """A context manager: a refusal raises Stop. Make it before the copies."""

    def __init__(self) -> None:
        # An object of the run may get the place of one of these that went meanwhile: it is told by its type, and containers are
        # held. Others are not, because torch frees tensors that it owns itself, whoever refers to them from Python.
        objects = gc.get_objects()
        kinds = list(map(type, objects))
        self._old = dict(zip(map(id, objects), kinds))
        of_containers = {kind for kind in set(kinds) if issubclass(kind, CONTAINERS)}
        self._old_containers = [each for each, kind in zip(objects, kinds) if kind in of_containers]
        del objects, kinds
        self._shadow: Shadow | None = None
        self._shared: dict[str, list[Any]] = {}  # attributes of classes and functions that can be written to
        self._before = Before()
        self.torch_state = TorchState()
        self._seen_modules: set[tuple[int, int]] = set()
        self._held: set[int] = set()  # modules that were there before
        self.stop = ""
        self._handlers = _signal_handlers()
        self._handler: FrameType | None = None  # that runs now, or an import of torch's own
        self._has_handled = False  # a signal, meanwhile
        self._collects = gc.isenabled()
        self._traces = sys.gettrace() is None and _sees_stores()  # not beside a debugger

    def of(self, shadow: Shadow) -> "Guard":
        self._shadow = shadow
        for each in shadow.ids:  # an object that has gone may have left its address to a copy
            self._old.pop(each, None)
        for module, _ in shadow.modules:
            self._look_at_class(type(module))
        return self

    def __enter__(self) -> "Guard":
        gc.disable()  # the finalizers of others are called when they would have been
        if self._traces:
            sys.settrace(self._trace)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)
        if self._traces:
            sys.settrace(None)
        if self._collects:
            gc.enable()
        self._before.put_back(not self._has_handled)
        self._old_containers.clear()

    def check(self) -> None:
        """A Stop that the caller's code has caught is one nevertheless."""
        if self.stop:
            raise Stop(self.stop)

    def may_set(self, tensors: Any) -> bool:
        """Whether attributes of these tensors, such as .data, belong to the run."""
        return all(self._is_new(each) for each in tensors)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.stop and self._traces:
            sys.settrace(self._trace)  # a trace that raises ends
        if self._handler is not None:
            if event == "return" and frame is self._handler:
                self._handler = None
        elif event == "call":
            code = frame.f_code
            if code in self._handlers:
                self._handler = frame
                self._has_handled = True
            elif not is_trusted_call(frame):
                self._enter(frame, code)
            elif code.co_name in ("_find_and_load", "_find_spec") and code.co_filename.startswith("<frozen importlib"):
                self._look_at_import(frame)
            elif is_denied(code) and not (is_of_ours(frame) or is_below_torch(frame) or self.torch_state.may_set(code.co_name, None)):
                sent = tensors_in(list(frame.f_locals.values())) if "distributed" in code.co_filename else ()
                self._refuse(f"{code.co_name} of {'torch' if code.co_filename.startswith(torch_folder()) else 'Python'} changes more "
                             "than its results", sent)
        elif event == "c_call":
            self._call(frame, argument)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Sees attributes that are written, and exceptions: the profile that raised one has ended, and a finally is to be seen."""
        if event == "call":
            if self._handler is not None or is_trusted_call(frame):
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, bool(code_of(frame.f_code).stores)
            frame.f_trace = self._trace  # by which newer Pythons tell instructions
        elif event == "opcode":
            if self._handler is None and (store := code_of(frame.f_code).stores.get(frame.f_lasti)) is not None:
                self._may_store(frame, store)
        elif event == "exception" and self.stop:
            sys.setprofile(self._event)
        return self._trace

    def _refuse(self, words: str, sent: Sequence[Any] = ()) -> None:
        self.stop = self.stop or words
        raise Stop(self.stop, sent)

    def _look_at_import(self, frame: FrameType) -> None:
        """A module that is not loaded yet, or is looked for: the finders of sys.meta_path run, such as setuptools's. Torch loads its own
        when they are first used; nothing of the call's runs there."""
        importer = frame.f_back
        while importer is not None and importer.f_code.co_filename.startswith("<frozen importlib"):
            importer = importer.f_back
        if importer is None or is_trusted_call(importer):
            self._handler = frame
        elif frame.f_code.co_name == "_find_and_load":
            self._refuse(f"{importer.f_code.co_name} imports {frame.f_locals.get('name')}, which cannot be put back")

    # --- functions in Python ---

    def _enter(self, frame: FrameType, code: CodeType) -> None:
        facts = code_of(code)
        name = code.co_name
        if facts.refusal:
            self._refuse(f"{name} {facts.refusal}, which cannot be put back")
        if name in ("__enter__", "__aenter__", "__del__"):
            self._refuse(f"it enters a context manager of the caller's own ({name})")
        values = frame.f_locals
        if (facts.stores or facts.has_finally) and not self._traces:
            self._refuse(f"{name} {'assigns attributes of others' if facts.stores else 'has a finally'}, and a debugger is there")
        if facts.writes_self:
            self._may_write(values.get(facts.first), name, facts)
        if facts.has_finally:  # which runs when the run ends
            for store in facts.stores.values():
                self._may_store(frame, store)
        for key, value in values.items():
            if key == ".0" and type(value) is _RANGE:  # a comprehension's own: where others come from, they are looked at
                continue
            if key != facts.keywords and not self._is_new(value):
                self._look(value, f"{key} in {name}", facts)
        for key in facts.global_names | facts.written_globals:
            if key in frame.f_globals:
                self._look(frame.f_globals[key], key, facts)
        for level, key in facts.imports:
            package = str(frame.f_globals.get("__package__") or "").split(".")
            parts = [*package[:len(package) - level + 1], *filter(None, [key])] if level else [key]
            if (module := sys.modules.get(".".join(parts))) is not None:
                self._look_at_module(module, facts, 0)
        for key in facts.names & self._shared.keys():
            for each in self._shared[key]:
                self._look(each, key, facts)
        if not self._before.may_be_written(frame.f_globals, facts):
            self._refuse(f"{name} writes to what another thread may use")

    def _may_store(self, frame: FrameType, store: Store) -> None:
        name = frame.f_code.co_name
        owner = (frame.f_globals if store.is_global else frame.f_locals).get(store.root, _NOTHING)
        for each in store.path:
            owner = _plain_attribute(owner, each)
        if owner is _NOTHING:
            self._refuse(f"{name} assigns .{store.attribute} of another object, which cannot be put back")
        elif isinstance(owner, type):
            if type(owner) is not type or not owner.__flags__ & 1 << 9 or owner.__module__.partition(".")[0] in _CLASSES:
                self._refuse(f"{name} assigns .{store.attribute} of {owner.__name__}, which cannot be put back")
            if not self._before.keep_attribute(owner, store.attribute):
                self._refuse(f"{name} writes to what another thread may use")
        else:
            self._may_write(owner, name, code_of(frame.f_code))

    def _may_write(self, owner: Any, name: str, facts: Code) -> None:
        """Ends the run, unless the attributes of an object are its own, or can be put back."""
        if self._is_new(owner):
            return
        if not (_is_plain(owner) or isinstance(owner, FunctionType)):
            self._refuse(f"{name} writes to an attribute of {_kind(owner)}, which was there before")
        self._look(owner, name, facts)
        self._look_at_attributes(owner, name, facts, 0)
        if not self._before.is_to_be_written(vars(owner)):
            self._refuse(f"{name} writes to what another thread may use")

    def _is_new(self, value: Any) -> bool:
        """Whether the run has made it."""
        if self._shadow is not None and self._shadow.has(value):
            return True
        if type(value) in (tuple, frozenset):
            return all(is_atom(each) or self._is_new(each) for each in value)
        return is_atom(value) or gc.is_tracked(value) and self._old.get(id(value)) is not type(value)

    def _look(self, value: Any, name: str, facts: Code, depth: int = 0) -> None:
        """Existing objects may be read, and only read."""
        kind = type(value)
        torch = sys.modules["torch"]
        if is_atom(value) or isinstance(value, torch.Tensor) or isinstance(value, (logging.Logger, dataclasses.Field)) or self._is_new(value):
            return  # a logger is one by its functions, and they are looked at
        if kind.__module__.startswith("torch._ops"):  # an operation
            return
        if isinstance(value, ModuleType):
            self._look_at_module(value, facts, depth)
        elif isinstance(value, FunctionType):
            for key, each in vars(value).items():
                self._share(key, each)
            for each in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
                if type(each) in CONTAINERS and depth <= 20:
                    self._look(each, name, facts, depth + 1)
        elif isinstance(value, type):
            if not value.__flags__ & 1 << 9 and value.__module__.partition(".")[0] not in _CLASSES and value is not weakref.ref:
                self._refuse(f"it uses {name}, a class in C")
            self._look_at_class(value)
        elif isinstance(value, MethodType):
            self._look(value.__self__, name, facts, depth + 1)
        elif isinstance(value, BuiltinFunctionType) and is_of_module(value):
            return
        elif kind is contextvars.ContextVar:  # the run has a context of its own
            self._look(value.get(None), name, facts, depth + 1)
        elif kind is weakref.ref and depth <= 20:
            self._look(value(), name, facts, depth + 1)
        elif kind is MappingProxyType and depth <= 20:
            self._look(tuple(value.items()), name, facts, depth + 1)
        elif kind in CONTAINERS or kind in (tuple, frozenset):
            if len(value) > _MOST_OF_CONTAINER or depth > 20:
                self._refuse(f"{name} holds too much to be looked at")
            if self._before.has(value):
                return
            if kind in CONTAINERS:
                self._before.keep(value)
            for each in [*value.keys(), *value.values()] if isinstance(value, dict) else list(value):
                self._look(each, name, facts, depth + 1)
        elif isinstance(value, torch.nn.Module) and not isinstance(value, torch.jit.ScriptModule):
            self._look_at_held(value, name, facts, depth)
        elif _is_plain(value):
            self._look_at_plain(value, name, facts, depth)
        elif kind.__module__ not in ("typing", "types"):
            self._refuse(f"it uses {name}, {_kind(value)}, whose state is not known")

    def _look_at_module(self, module: ModuleType, facts: Code, depth: int) -> None:
        if is_trusted_module(module.__name__) or (id(module), id(facts)) in self._seen_modules:
            return
        self._seen_modules.add((id(module), id(facts)))
        for name in facts.names & vars(module).keys():
            self._look(vars(module)[name], name, facts, depth + 1)

    def _look_at_held(self, module: Any, name: str, facts: Code, depth: int) -> None:
        """A module that a function holds: it may be called, where it has no hooks and all that it holds may be read."""
        if id(module) in self._held:
            return
        self._held.add(id(module))
        self._look_at_class(type(module))
        for key, value in vars(module).items():
            if key.endswith("_hooks") and isinstance(value, dict):
                if value:
                    self._refuse(f"it calls {name}, {_kind(module)}, which has hooks")
            elif isinstance(value, dict) and key in ("_parameters", "_buffers", "_modules"):
                for each in value.values():
                    self._look(each, name, facts, depth + 1)
            else:
                self._look(value, f"{name}.{key}", facts, depth + 1)

    def _look_at_plain(self, value: Any, name: str, facts: Code, depth: int) -> None:
        """An object of the caller's with attributes as its whole state, such as a registry. Its containers are put back."""
        if id(value) in self._held:
            return
        self._held.add(id(value))
        if depth > 20:
            self._refuse(f"{name} holds too much to be looked at")
        self._look_at_class(type(value))
        self._look_at_attributes(value, name, facts, depth + 1)

    def _look_at_attributes(self, value: Any, name: str, facts: Code, depth: int) -> None:
        attributes = vars(value)  # Python may make this dict now: then the run did not make it
        if not self._before.has(attributes):
            self._before.keep(attributes)
            for each in list(attributes.values()):
                self._look(each, name, facts, depth)

    def _look_at_class(self, kind: type) -> None:
        if hasattr(kind, "__del__"):
            self._refuse(f"{kind.__name__} has a __del__")
        for each in kind.__mro__:
            if each.__module__.partition(".")[0] in _CLASSES:
                continue
            for name, value in vars(each).items():
                is_kept = isinstance(value, (FunctionType, type, property, staticmethod, classmethod)) or is_atom(value)
                if not is_kept and not name.startswith("__") and type(value).__name__ not in ("cached_property", "member_descriptor",
                                                                                          "getset_descriptor", "_abc_data"):
                    self._share(name, value)

    def _share(self, name: str, value: Any) -> None:
        values = self._shared.setdefault(name, [])
        if all(value is not each for each in values):
            values.append(value)

    # --- functions in C ---

    def _may_set(self, frame: FrameType, name: str, owner: Any) -> bool:
        """Whether a function of torch sets a state that is put back, or the state of a copied generator, which goes with the run. Torch's
        compiler sets states around a function that it does not compile, and puts them back itself."""
        is_of_copy = name == "set_state" and self._shadow is not None and self._shadow.has(owner)
        return is_of_copy or self.torch_state.may_set(name, owner) or name in _OF_COMPILER and is_trusted(frame.f_code)

    def _call(self, frame: FrameType, function: Any) -> None:
        owner, name = getattr(function, "__self__", None), function.__name__
        if isinstance(owner, ModuleType):
            home = owner.__name__
        else:
            home = owner.__module__ if isinstance(owner, type) else getattr(function, "__module__", None) or type(owner).__module__
        if home.partition(".")[0] == "torch" or isinstance(owner, sys.modules["torch"].Tensor):
            if _STATE_IN_C.match(name) and not (is_of_ours(frame) or self._may_set(frame, name, owner)):
                self._refuse(f"{name} of torch changes more than its results")
            return
        if is_trusted_call(frame) or isinstance(owner, contextvars.ContextVar):
            return
        facts = code_of(frame.f_code)
        if name in ("setattr", "delattr") and home == "builtins" and facts.calls_setters:
            return  # _trace has seen the owner
        if isinstance(owner, ModuleType):
            if name in _WRITERS_IN_C or not (home in _C_MODULES or home == "builtins" and name in _CALLED or name == "_count_elements"):
                self._refuse(f"{frame.f_code.co_name} calls {home}.{name}")
        elif isinstance(owner, CONTAINERS):
            if (name not in _READERS and not self._is_new(owner) and not self._before.is_to_be_written(owner) and id(owner) in self._old
                    and frame.f_locals.get(facts.keywords) is not owner):
                shared = ", and another thread may use it meanwhile" if self._before.has(owner) else ""
                self._refuse(f"{frame.f_code.co_name} calls {name} of a container that was there before{shared}")
        elif isinstance(owner, type):
            if owner.__module__.partition(".")[0] not in _CLASSES and not owner.__flags__ & 1 << 9:
                self._refuse(f"{frame.f_code.co_name} calls {owner.__name__}.{name}")
        elif not is_atom(owner) and type(owner).__module__.partition(".")[0] not in _CLASSES and owner is not None:
            self._refuse(f"{frame.f_code.co_name} calls {name} of {_kind(owner)}")
        elif owner is None:
            self._refuse(f"{frame.f_code.co_name} calls {home}.{name}")


def _signal_handlers() -> set[CodeType]:
    """The caller's: they run between any two instructions, and they run."""
    handlers = [signal.getsignal(each) for each in signal.valid_signals()]
    codes = [getattr(getattr(each, "__func__", each), "__code__", None) for each in handlers]
    return {each for each in codes if each is not None}


def _is_plain(value: Any) -> bool:
    """Whether all of an object's state is in its __dict__: its class and those below it are written in Python, without slots."""
    kind, torch = type(value), sys.modules["torch"]
    size = object.__basicsize__ + 2 * struct.calcsize("P")  # the places of __dict__ and of weak references; newer Pythons have none
    return (type(kind) in (type, abc.ABCMeta) and bool(kind.__flags__ & 1 << 9) and kind.__basicsize__ <= size and not kind.__itemsize__
            and isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, torch.nn.Module)
            and not any(vars(each).get("__slots__") for each in kind.__mro__)
            and not any("__del__" in vars(each) or "__getattribute__" in vars(each) for each in kind.__mro__[:-1]))


def _kind(value: Any) -> str:
    return f"an object of type {type(value).__name__}"


def _plain_attribute(owner: Any, name: str) -> Any:
    """An attribute that is read without any function of the caller's; _NOTHING of others."""
    kind, torch = type(owner), sys.modules["torch"]
    own: Any = kind.__getattribute__
    if own is not object.__getattribute__ and own is not ModuleType.__getattribute__:
        return _NOTHING
    if any(hasattr(type(vars(each)[name]), "__set__") for each in kind.__mro__ if name in vars(each)):
        return _NOTHING
    attributes = getattr(owner, "__dict__", {})
    if name in attributes or not isinstance(owner, torch.nn.Module) or kind.__getattr__ is not torch.nn.Module.__getattr__:
        return attributes.get(name, _NOTHING)
    return next((each[name] for key in ("_parameters", "_buffers", "_modules") if name in (each := attributes.get(key, {}))), _NOTHING)


@functools.cache
def _sees_stores() -> bool:
    """Whether this Python tells a trace of instructions: tried once."""
    seen = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "call":
            frame.f_trace_lines, frame.f_trace_opcodes, frame.f_trace = False, True, trace
        elif event == "opcode" and frame.f_lasti in code_of(frame.f_code).stores:
            seen.append(frame.f_lasti)
        return trace

    def store(owner: Any, value: Any) -> None:
        if value:
            value.tried = owner
    sys.settrace(trace)
    try:
        store(None, trace)
    finally:
        sys.settrace(None)
    del trace.tried  # type: ignore[attr-defined]
    return len(seen) == 1


_NOTHING = object()
