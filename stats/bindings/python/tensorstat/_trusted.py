"""Whose code a function is, while a call is run again under _guard: torch's, this package's and parts of Python's library are
trusted, but for functions that change more than their results."""
import functools
import os
import re
import sys
import sysconfig
from types import CodeType, FrameType

from ._journal import OURS

_TRUSTED_FILES = {"abc.py", "_collections_abc.py", "typing.py", "enum.py", "operator.py", "functools.py", "contextlib.py",
                  "types.py", "numbers.py", "dataclasses.py", "copy.py", "copyreg.py",
                  "inspect.py", "annotationlib.py"}
_DENIED = {"contextlib.py": {"callback", "push", "enter_context"}, "functools.py": {"register"}, "abc.py": {"register"},
           "inspect.py": {"currentframe", "stack", "trace", "getouterframes", "getinnerframes", "getclosurevars", "getattr_static",
                          "getmembers", "getmembers_static"},
           "copyreg.py": {"pickle", "constructor", "add_extension", "remove_extension", "clear_extension_cache"}}
# Their functions write to their arguments, or hand out shared objects: only torch may call them unchecked.
_FILES_OF_TORCH = {"weakref.py", "_weakrefset.py", "collections/__init__.py"}
# Files of torch with functions that have effects beyond their call.
_STATE_IN_FILES = re.compile(r"(serialization|hub|storage)\.py$|(multiprocessing|utils/data|utils/tensorboard|distributed|onnx|jit|export|"
                             r"_export|profiler|fx)/|nn/parallel/distributed\.py$|utils/hooks\.py$|library\.py$")
_STATE_OF_HARMLESS = re.compile(r"_?is_|_?get_|<")

_trusted: dict[CodeType, bool] = {}
_denied: dict[CodeType, bool] = {}


def is_trusted(code: CodeType) -> bool:
    known = _trusted.get(code)
    if known is None:
        file = code.co_filename
        library = _library()
        known = _trusted[code] = (file.startswith((OURS, torch_folder(), "<frozen")) and not file.startswith("<frozen runpy")
                                  or file.startswith(library) and file.removeprefix(library) in _TRUSTED_FILES)
    return known


@functools.cache
def _library() -> str:
    return sysconfig.get_paths()["stdlib"] + os.sep


def is_trusted_call(frame: FrameType) -> bool:
    code = frame.f_code
    if is_trusted(code):
        return True
    if code.co_filename == "<string>":  # of a dataclass of torch's own
        return str(frame.f_globals.get("__name__", "")).startswith("torch.")
    if not code.co_filename.startswith(_library()) or code.co_filename.removeprefix(_library()) not in _FILES_OF_TORCH:
        return False
    if "<locals>" in code.co_qualname:  # what weak containers do when an object goes
        return True
    return is_below_torch(frame)


def is_below_torch(frame: FrameType) -> bool:
    """Whether torch, or this package, called a function of Python's library."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_filename.startswith(_library()):
        caller = caller.f_back
    return caller is not None and caller is not frame and caller.f_code.co_filename.startswith((OURS, torch_folder()))


def is_denied(code: CodeType) -> bool:
    known = _denied.get(code)
    if known is None:
        file, torchs = code.co_filename, torch_folder()
        known = _denied[code] = (file.startswith(torchs) and _STATE_IN_FILES.search(file.removeprefix(torchs)) is not None
                                 and not _STATE_OF_HARMLESS.match(code.co_name)
                                 and not (code.co_name == "annotate" and file.endswith("jit/__init__.py"))  # it returns its argument
                                 or file.startswith(_library()) and code.co_name in _DENIED.get(file.removeprefix(_library()), ()))
    return known


def torch_folder() -> str:
    return os.path.dirname(str(sys.modules["torch"].__file__)) + os.sep


def is_of_ours(frame: FrameType | None) -> bool:
    """Whether this package called torch here."""
    while frame is not None and frame.f_code.co_filename.startswith(torch_folder()):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OURS)
