"""Results as Python has numbers."""
import ctypes
import json
import math
import struct

from ._library import STATISTICS, lib

_VALUE = struct.Struct("<iI24s")  # tensorstat_value


def _python_value(kind, byte_count, raw):
    if kind == 3:
        return struct.unpack_from("<d", raw)[0]
    if kind == 1:
        return int.from_bytes(raw[:8], "little")
    if kind == 2:
        return int.from_bytes(raw[:8], "little", signed=True)
    if kind == 4:
        return raw[:byte_count].hex()
    return None


def values_at(address, count):
    """The `count` tensorstat_values at `address`."""
    return [_python_value(*each) for each in _VALUE.iter_unpack(ctypes.string_at(address, count * _VALUE.size))]


def statistic_name(text):
    """The catalog's name of `nan_count`, `nan-count` or `nan count`; KeyError of any other."""
    number = lib.statistic_named(text.encode())
    if number < 0:
        raise KeyError(f"{text!r} is no statistic; known are {', '.join(STATISTICS)}")
    return STATISTICS[number]


class Statistics:
    """What was measured of one tensor.

    A value is an int (counts; max and min of integers), a float (all else), a str (the hexadecimal digits of a digest),
    or None where there is no value: max, min and avg of an empty tensor.

        r.nan_count, r["nan count"], r["nan-count"]     one value
        r.to_dict(), r.to_json()                        all, by the names of the catalog
        r.dtype, r.shape                                the tensor's
    """

    __slots__ = ("dtype", "shape", "_values")

    def __init__(self, values, dtype=None, shape=None):
        self._values, self.dtype, self.shape = values, dtype, shape

    def __getitem__(self, name):
        if name in self._values:
            return self._values[name]
        known = statistic_name(name)
        if known not in self._values:
            raise KeyError(f"{known!r} was not asked for; asked were {', '.join(self._values)}")
        return self._values[known]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as unknown:
            raise AttributeError(unknown.args[0]) from None

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __contains__(self, name):
        return name in self._values

    def keys(self):
        return self._values.keys()

    def items(self):
        return self._values.items()

    def __eq__(self, other):
        """Of the same values; NaN is the same as NaN."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return repr(self.to_dict()) == repr(other.to_dict())

    __hash__ = None

    def to_dict(self):
        """{"max": 1.5, "nan count": 0, ...}; NaN and Inf are floats."""
        return dict(self._values)

    def to_json(self):
        """Strict JSON: NaN and Inf are the texts "nan", "inf" and "-inf"."""
        return json.dumps({name: _strict(value) for name, value in self._values.items()})

    def __reduce__(self):
        return Statistics, (self._values, self.dtype, self.shape)

    def __repr__(self):
        shape = "" if self.shape is None else "[" + ", ".join(map(str, self.shape)) + "]"
        head = f"{self.dtype or 'tensor'}{shape}"
        parts = [f"{name} {_shown(value)}" for name, value in self._values.items() if not _dull(name, value)]
        flags = [flag for name, flag in (("nan count", "NaN!"), ("positive inf count", "+Inf!"),
                                         ("negative inf count", "-Inf!")) if self._values.get(name)]
        return "  ".join([head, *parts, *flags])


def _strict(value):
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value):
    return f"{value:.6g}" if isinstance(value, float) else "none" if value is None else str(value)


def _dull(name, value):
    """Counts that are 0 say nothing on one line."""
    return value == 0 and name.endswith(" count")


def to_pandas(results):
    """A pandas.DataFrame with a row for each tensor of a dict or list of Statistics."""
    import pandas
    names, each = (list(results), list(results.values())) if hasattr(results, "values") else (None, list(results))
    rows = [{"dtype": one.dtype, "shape": one.shape, **one.to_dict()} for one in each]
    return pandas.DataFrame(rows, index=names)
