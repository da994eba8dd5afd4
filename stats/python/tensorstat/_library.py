"""libtensorstat.so and the structs of <tensorstat/tensorstat.h>, through ctypes.

ctypes and not an extension module: one library serves every Python, nothing is compiled for a version of it, and
each call gives up the GIL.
"""
import ctypes
import os
import pathlib

from ctypes import POINTER, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

CODES = {1: "invalid", 2: "unsupported", 3: "unreadable", 4: "unwritable", 5: "over budget", 6: "device", 7: "out of memory",
         8: "in use"}
NO_LIMIT = 2**64 - 1


class Error(Exception):
    """What went wrong, in words; `code` is "invalid", "unsupported", "unreadable", "unwritable", "over budget",
    "device", "out of memory" or "in use"."""

    def __init__(self, message, code="invalid"):
        super().__init__(message)
        self.code = code


class _Sized(ctypes.Structure):
    """A struct whose first field is its size."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class TensorStruct(_Sized):
    _fields_ = [("size", c_size_t), ("dtype", c_int32), ("where", c_int32), ("element_count", c_uint64),
                ("address", c_void_p), ("offset_bytes", c_uint64), ("dimension_count", c_uint32),
                ("shape", c_void_p), ("stride_bytes", c_void_p)]


class RequestStruct(_Sized):
    _fields_ = [("size", c_size_t), ("statistics", c_char_p), ("precision", c_int32), ("on", c_int32)]


Log = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class MeterOptionsStruct(_Sized):
    _fields_ = [("size", c_size_t), ("budget_bytes", c_uint64), ("platform", c_int32), ("device", c_int32),
                ("queue", c_void_p), ("thread_count", c_uint32), ("log", Log), ("log_context", c_void_p)]


class SessionOptionsStruct(_Sized):
    _fields_ = [("size", c_size_t), ("meter", POINTER(MeterOptionsStruct)), ("dialect", c_int32), ("layout", c_int32),
                ("sync", c_int32), ("memory_bytes", c_uint64), ("path", c_char_p), ("names_are_escaped", c_int32),
                ("device_target", c_char_p), ("framework_version", c_char_p)]


class PlaceStruct(_Sized):
    _fields_ = [("size", c_size_t), ("rank", c_uint32), ("device", c_uint32), ("graph", c_uint32),
                ("iteration", c_uint64), ("constants", c_int32)]


class DumpTensorStruct(_Sized):
    _fields_ = [("size", c_size_t), ("tensor", POINTER(TensorStruct)), ("shape", c_void_p), ("dimension_count", c_uint32),
                ("io", c_int32), ("slot", c_uint32), ("stored", c_int32), ("timestamp_us", c_uint64),
                ("format", c_char_p), ("release", c_void_p), ("owner", c_void_p)]


class CountersStruct(_Sized):
    NAMES = ("operator_count", "tensor_count", "overflow_count", "row_count", "lost_row_count", "file_count",
             "lost_tensor_count", "stall_count", "stalled_us", "held_bytes", "most_held_bytes")
    _fields_ = [("size", c_size_t)] + [(name, c_uint64) for name in NAMES]


_CODE = "tensorstat_code"

# name: what it returns, what it takes
_FUNCTIONS = {
    "last_error": (c_char_p, []),
    "version": (c_char_p, []),
    "dtype_named": (c_int, [c_char_p]),
    "statistic_named": (c_int, [c_char_p]),
    "statistics_named": (_CODE, [c_char_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "dtype_name": (c_char_p, [c_int32]),
    "statistic_name": (c_char_p, [c_int32]),
    "dtype_bytes": (c_uint32, [c_int32]),
    "tensor_from_dlpack": (_CODE, [c_void_p, c_void_p, c_size_t, POINTER(TensorStruct)]),
    "meter_open": (_CODE, [c_void_p, POINTER(c_void_p)]),
    "meter_close": (None, [c_void_p]),
    "meter_device_memory": (None, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "measure": (_CODE, [c_void_p, c_void_p, c_size_t, c_void_p, POINTER(c_void_p)]),
    "result_statistic_count": (c_size_t, [c_void_p]),
    "result_statistic": (c_int, [c_void_p, c_size_t]),
    "result_values": (c_void_p, [c_void_p, c_size_t]),
    "result_engine": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "result_reason": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "result_free": (None, [c_void_p]),
    "stream_open": (_CODE, [c_void_p, c_int32, c_void_p, POINTER(c_void_p)]),
    "stream_append": (_CODE, [c_void_p, c_void_p, c_size_t]),
    "stream_finish": (_CODE, [c_void_p, POINTER(c_void_p)]),
    "stream_close": (None, [c_void_p]),
    "fold": (_CODE, [c_void_p, c_void_p, c_size_t, c_void_p, POINTER(c_void_p)]),
    "partial_free": (None, [c_void_p]),
    "partial_merge": (_CODE, [c_void_p, c_void_p]),
    "partial_finish": (_CODE, [c_void_p, c_int32, c_void_p]),
    "partial_serialize": (_CODE, [c_void_p, c_void_p, c_size_t, POINTER(c_size_t)]),
    "partial_parse": (_CODE, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "session_from_environment": (_CODE, [c_void_p, POINTER(c_void_p)]),
    "session_from_file": (_CODE, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "session_from_json": (_CODE, [c_char_p, c_void_p, POINTER(c_void_p)]),
    "session_enabled": (c_int, [c_void_p]),
    "operator_named": (c_void_p, [c_void_p, c_char_p, c_char_p, c_int, c_uint64, c_uint64]),
    "wants": (c_int, [c_void_p, c_void_p, c_void_p, c_int]),
    "collect": (_CODE, [c_void_p, c_void_p, c_void_p, c_void_p, c_size_t, c_int]),
    "step_end": (None, [c_void_p, c_void_p]),
    "session_flush": (None, [c_void_p]),
    "session_close": (None, [c_void_p]),
    "session_counters": (_CODE, [c_void_p, POINTER(CountersStruct)]),
}


class Library:
    """The functions by their names without `tensorstat_`; those that return a code raise Error."""

    def __init__(self, path):
        self._loaded = ctypes.CDLL(path)
        self.path = path
        for name, (returns, takes) in _FUNCTIONS.items():
            function = getattr(self._loaded, "tensorstat_" + name)
            function.restype, function.argtypes = c_int32 if returns is _CODE else returns, takes
            if returns is _CODE:
                function.errcheck = self._check
            setattr(self, name, function)

    def _check(self, code, function, arguments):
        if code:
            raise Error(self.last_error().decode("utf-8", "replace"), CODES.get(code, "invalid"))

    def names(self, name_of):
        """Every name of a list, by its number."""
        names = []
        while (name := name_of(len(names))) is not None:
            names.append(name.decode())
        return names


def _find():
    named = os.environ.get("TENSORSTAT_LIBRARY")
    if named:
        return named
    # By a link beside these modules; else where the system's loader finds it.
    links = sorted(pathlib.Path(__file__).resolve().parent.glob("libtensorstat.so*"))
    return str(links[0].resolve()) if links and links[0].exists() else "libtensorstat.so.0"


try:
    lib = Library(_find())
except OSError as failure:
    raise ImportError(f"tensorstat needs its library: {failure}. TENSORSTAT_LIBRARY=path names it.") from None

DTYPES = lib.names(lib.dtype_name)
STATISTICS = lib.names(lib.statistic_name)
DTYPE_NUMBERS = {name: number for number, name in enumerate(DTYPES)}
