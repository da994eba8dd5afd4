"""While a call is run again on copies (_shadow), nothing else of the caller's may be written. Every function in Python is looked
at before it begins, and every function in C before it is called; one that may write to what was there before, or that does
something nobody can take back, ends the run first."""
import abc
import gc
import logging
import os
import re
import signal
import struct
import sys
import sysconfig
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ._code import Code, code_of, is_trusted_module
from ._journal import OURS
from ._rerun import Stop
from ._before import Before
from ._shadow import CONTAINERS, Shadow, is_atom, is_of_module

_CALLED = {"len", "isinstance", "issubclass", "getattr", "hasattr", "abs", "min", "max", "sum", "all", "any", "round", "divmod", "pow",
           "sorted", "repr", "callable", "format", "chr", "ord", "hex", "bin", "id", "hash", "iter", "next", "__build_class__"}
_C_MODULES = {"math", "cmath", "_operator", "itertools", "_functools"}
_CLASSES = {"builtins", "collections", "itertools", "functools", "typing", "types", "enum", "abc", "torch", "_collections_abc"}
_READERS = {"get", "keys", "values", "items", "copy", "index", "count", "union", "intersection", "difference", "issubset",
            "issuperset", "isdisjoint", "symmetric_difference", "most_common", "__getitem__", "__contains__", "__len__", "__iter__",
            "__eq__", "__ne__", "__or__", "__and__", "__sub__", "__reversed__", "__class_getitem__"}
_TRUSTED_FILES = {"abc.py", "_collections_abc.py", "typing.py", "enum.py", "operator.py", "functools.py", "contextlib.py",
                  "types.py", "numbers.py", "dataclasses.py", "inspect.py", "weakref.py", "_weakrefset.py", "collections/__init__.py"}
# Of torch: what outlives the call that does it.
_STATE_IN_C = re.compile(r"_?set_(?!grad_enabled|fwd_grad|autocast|multithreading_enabled|torch_function|dispatch|conj|neg|to)|_?share_|"
                         r"_?save|_?unpickle|register_|_?cuda_(set|empty)|retain_grad")
_STATE_IN_FILES = re.compile(r"(serialization|hub|storage)\.py$|(multiprocessing|utils/data|utils/tensorboard|distributed|onnx|jit|export|"
                             r"_export|profiler|fx)/|nn/parallel/distributed\.py$|utils/hooks\.py$|library\.py$")
_STATE_OF_HARMLESS = re.compile(r"_?is_|_?get_|<")
_MOST_OF_CONTAINER = 2000


class Guard:
    """A context manager: what it refuses is a Stop. Make it before the copies."""

    def __init__(self) -> None:
        # Nothing is held, because torch frees tensors that it owns itself, whoever refers to them from Python. An object of the
        # run that gets the place of one of these is taken for an old one.
        self._old = set(map(id, gc.get_objects()))
        self._shadow: Shadow | None = None
        self._shared: dict[str, list[Any]] = {}  # attributes of classes and functions that can be written to
        self._before = Before()
        self._seen_modules: set[tuple[int, int]] = set()
        self._held: set[int] = set()  # modules that were there before
        self.stop = ""
        self._handlers = _signal_handlers()
        self._handler: FrameType | None = None  # that runs now, or an import of torch's own
        self._collects = gc.isenabled()

    def of(self, shadow: Shadow) -> "Guard":
        self._shadow = shadow
        for module, _ in shadow.modules:
            self._look_at_class(type(module))
        return self

    def __enter__(self) -> "Guard":
        gc.disable()  # the finalizers of others are called when they would have been
        sys.setprofile(self._event)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)
        if self._collects:
            gc.enable()
        self._before.put_back()

    def check(self) -> None:
        """A Stop that the caller's code has caught is one nevertheless."""
        if self.stop:
            raise Stop(self.stop)

    def may_set(self, tensors: Any) -> bool:
        """Whether attributes of these tensors, such as .data, belong to the run."""
        return all(self._is_new(each) for each in tensors)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._handler is not None:
            if event == "return" and frame is self._handler:
                self._handler = None
        elif event == "call":
            code = frame.f_code
            if code in self._handlers:
                self._handler = frame
            elif not _is_trusted(code) and not (code.co_filename == "<string>" and _is_of_torch(frame)):
                self._enter(frame, code)
            elif code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
                self._look_at_import(frame)
            elif _is_denied(code) and not _is_of_ours(frame):
                self._refuse(f"{code.co_name} of torch changes more than its results")
        elif event == "c_call":
            self._call(frame, argument)

    def _refuse(self, words: str) -> None:
        self.stop = self.stop or words
        raise Stop(self.stop)

    def _look_at_import(self, frame: FrameType) -> None:
        """A module that is not loaded yet. Torch loads its own when they are first used; nothing of the call's runs there."""
        importer = frame.f_back
        while importer is not None and importer.f_code.co_filename.startswith("<frozen importlib"):
            importer = importer.f_back
        if importer is None or _is_trusted(importer.f_code):
            self._handler = frame
        else:
            self._refuse(f"{importer.f_code.co_name} imports {frame.f_locals.get('name')}, which cannot be put back")

    # --- functions in Python ---

    def _enter(self, frame: FrameType, code: CodeType) -> None:
        said = code_of(code)
        name = code.co_name
        if said.refusal:
            self._refuse(f"{name} {said.refusal}, which cannot be put back")
        if name in ("__enter__", "__aenter__", "__del__"):
            self._refuse(f"it enters a context manager of the caller's own ({name})")
        values = frame.f_locals
        if said.writes_self:
            first = values.get(said.first)
            if not self._is_new(first):
                self._refuse(f"{name} writes to an attribute of {_kind(first)}, which was there before")
        for key, value in values.items():
            if key != said.keywords and not self._is_new(value):
                self._look(value, f"{key} in {name}", said)
        for key in said.global_names | said.written_globals:
            if key in frame.f_globals:
                self._look(frame.f_globals[key], key, said)
        for key in said.imports:
            if (module := sys.modules.get(key)) is not None:
                self._look_at_module(module, said, 0)
        for key in said.names & self._shared.keys():
            for each in self._shared[key]:
                self._look(each, key, said)
        for key, attribute in said.written_classes:
            kind = values.get(key, frame.f_globals.get(key))
            if type(kind) is not type or not kind.__flags__ & 1 << 9 or kind.__module__.partition(".")[0] in _CLASSES:
                self._refuse(f"{name} assigns .{attribute} of {key}, which cannot be put back")
            self._before.keep_attribute(kind, attribute)
        if not self._before.may_be_written(frame.f_globals, said):
            self._refuse(f"{name} writes to what another thread may use")

    def _is_new(self, value: Any) -> bool:
        """Whether the run has made it."""
        if self._shadow is not None and self._shadow.has(value):
            return True
        if type(value) in (tuple, frozenset):
            return all(is_atom(each) or self._is_new(each) for each in value)
        return is_atom(value) or gc.is_tracked(value) and id(value) not in self._old

    def _look(self, value: Any, name: str, said: Code, depth: int = 0) -> None:
        """What was there before may be read, and be read alone."""
        kind = type(value)
        torch = sys.modules["torch"]
        if is_atom(value) or isinstance(value, torch.Tensor) or isinstance(value, logging.Logger) or self._is_new(value):
            return  # a logger is one by its functions, and they are looked at
        if isinstance(value, ModuleType):
            self._look_at_module(value, said, depth)
        elif isinstance(value, FunctionType):
            for key, each in vars(value).items():
                self._share(key, each)
        elif isinstance(value, type):
            if not value.__flags__ & 1 << 9 and value.__module__.partition(".")[0] not in _CLASSES:
                self._refuse(f"it uses {name}, a class in C")
            self._look_at_class(value)
        elif isinstance(value, MethodType):
            self._look(value.__self__, name, said, depth + 1)
        elif isinstance(value, BuiltinFunctionType) and is_of_module(value):
            return
        elif kind in CONTAINERS or kind in (tuple, frozenset):
            if len(value) > _MOST_OF_CONTAINER or depth > 20:
                self._refuse(f"{name} holds too much to be looked at")
            if self._before.has(value):
                return
            if kind in CONTAINERS:
                self._before.keep(value)
            for each in [*value.keys(), *value.values()] if isinstance(value, dict) else list(value):
                self._look(each, name, said, depth + 1)
        elif isinstance(value, torch.nn.Module) and not isinstance(value, torch.jit.ScriptModule):
            self._look_at_held(value, name, said, depth)
        elif _is_plain(value):
            self._look_at_plain(value, name, said, depth)
        elif kind.__module__ not in ("typing", "types") and not type(value).__module__.startswith("torch._ops"):
            self._refuse(f"it uses {name}, {_kind(value)}, whose state is not known")

    def _look_at_module(self, module: ModuleType, said: Code, depth: int) -> None:
        if is_trusted_module(module.__name__) or (id(module), id(said)) in self._seen_modules:
            return
        self._seen_modules.add((id(module), id(said)))
        for name in said.names & vars(module).keys():
            self._look(vars(module)[name], name, said, depth + 1)

    def _look_at_held(self, module: Any, name: str, said: Code, depth: int) -> None:
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
                    self._look(each, name, said, depth + 1)
            else:
                self._look(value, f"{name}.{key}", said, depth + 1)

    def _look_at_plain(self, value: Any, name: str, said: Code, depth: int) -> None:
        """An object of the caller's whose whole state is its attributes, such as a registry. Its containers are put back."""
        if id(value) in self._held:
            return
        self._held.add(id(value))
        if depth > 20:
            self._refuse(f"{name} holds too much to be looked at")
        self._look_at_class(type(value))
        self._look(vars(value), name, said, depth + 1)

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

    def _call(self, frame: FrameType, function: Any) -> None:
        owner, name = getattr(function, "__self__", None), function.__name__
        if isinstance(owner, ModuleType):
            home = owner.__name__
        else:
            home = owner.__module__ if isinstance(owner, type) else getattr(function, "__module__", None) or type(owner).__module__
        if home.partition(".")[0] == "torch" or isinstance(owner, sys.modules["torch"].Tensor):
            if _STATE_IN_C.match(name) and not _is_of_ours(frame) and not (name == "set_eval_frame" and _is_trusted(frame.f_code)):
                self._refuse(f"{name} of torch changes more than its results")
            return
        if _is_trusted(frame.f_code):
            return
        if isinstance(owner, ModuleType):
            if not (home in _C_MODULES or home == "builtins" and name in _CALLED):
                self._refuse(f"{frame.f_code.co_name} calls {home}.{name}")
        elif isinstance(owner, CONTAINERS):
            if name not in _READERS and not self._is_new(owner) and not self._before.is_to_be_written(owner) and id(owner) in self._old:
                self._refuse(f"{frame.f_code.co_name} calls {name} of a container that was there before")
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


_trusted: dict[CodeType, bool] = {}
_denied: dict[CodeType, bool] = {}


def _is_trusted(code: CodeType) -> bool:
    known = _trusted.get(code)
    if known is None:
        file = code.co_filename
        library = sysconfig.get_paths()["stdlib"] + os.sep
        known = _trusted[code] = (file.startswith((OURS, _torch_folder(), "<frozen")) and not file.startswith("<frozen runpy")
                                  or file.startswith(library) and file.removeprefix(library) in _TRUSTED_FILES)
    return known


def _is_of_torch(frame: FrameType) -> bool:
    """Whether a function without a file, as dataclasses make them, is one of torch's own modules."""
    return str(frame.f_globals.get("__name__", "")).startswith("torch.")


def _is_denied(code: CodeType) -> bool:
    known = _denied.get(code)
    if known is None:
        file, torchs = code.co_filename, _torch_folder()
        known = _denied[code] = (file.startswith(torchs) and _STATE_IN_FILES.search(file.removeprefix(torchs)) is not None
                                 and not _STATE_OF_HARMLESS.match(code.co_name)
                                 or file.endswith("contextlib.py") and code.co_name in ("callback", "push", "enter_context"))
    return known


def _torch_folder() -> str:
    return os.path.dirname(str(sys.modules["torch"].__file__)) + os.sep


def _is_of_ours(frame: FrameType | None) -> bool:
    """Whether this package called torch here."""
    while frame is not None and frame.f_code.co_filename.startswith(_torch_folder()):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OURS)
