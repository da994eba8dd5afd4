"""Results as Python has numbers."""
import html
import json
import math
from collections.abc import ItemsView, Iterable, Iterator, KeysView
from typing import Any

from . import _native
from ._library import STATISTICS, Error, log

__all__ = ["Statistics", "to_pandas"]


def statistic_name(text: str) -> str:
    """The catalog's name of `nan_count`, `nan-count` or `nan count`; KeyError of any other."""
    name = _native.statistic_named(text)
    if name is None:
        raise KeyError(f"{text!r} is no statistic; known are {', '.join(STATISTICS)} and pN, 0 <= N <= 100")
    return name


class Statistics(_native.Measured):
    """The statistics of one tensor.

    A value is an int (counts and indices; max, min and quantiles of integers), a float (all else), a str (a digest in hexadecimal), or None
    if it does not exist: max, min, avg and argmax of an empty tensor.

        r.nan_count, r["nan count"], r["nan-count"]     one value
        r.p50, r["p99.9"]                               a quantile that was asked for
        r.to_dict(), r.to_json(), r.to_pandas()         all, by the names of the catalog
        r.dtype, r.shape                                the tensor's
        repr(r), print(r)                               a line, a table
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        values = self._values
        if name in values:
            return values[name]
        known = statistic_name(name)
        if known not in values:
            raise KeyError(f"{known!r} was not asked for; asked were {', '.join(values)}")
        return values[known]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as unknown:
            raise AttributeError(unknown.args[0]) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name.replace(" ", "_") for name in self._values)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def keys(self) -> KeysView[str]:
        """The names of the catalog, in the order asked."""
        return self._values.keys()

    def items(self) -> ItemsView[str, Any]:
        """(name, value) of each."""
        return self._values.items()

    def __eq__(self, other: object) -> bool:
        """Whether the same statistics, in any order, have the same values. NaN is equal to NaN, and 0.0 is not to -0.0."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return repr(sorted(self._values.items())) == repr(sorted(other._values.items()))

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """{"max": 1.5, "nan count": 0, ...}; NaN and Inf are floats."""
        return dict(self._values)

    def to_json(self) -> str:
        """Strict JSON: NaN and Inf are the texts "nan", "inf" and "-inf"."""
        return json.dumps({name: _strict(value) for name, value in self._values.items()})

    def to_pandas(self) -> Any:
        """A pandas.Series by the names of the catalog. Of many results, see tensorstat.to_pandas."""
        import pandas
        return pandas.Series(self._values, dtype=object)

    def __reduce__(self) -> tuple[Any, ...]:
        return Statistics, (self._values, self.dtype, self.shape)

    def __repr__(self) -> str:
        """One line: float32[3, 4] n=12 x∈[-1.5, 2] avg=0.25 l2norm=3.2 2 NaN!"""
        values = dict(self._values)
        parts = [self._head()]
        if (count := values.pop("count", None)) is not None:
            parts.append(f"n={count}")
        if values.get("min") is not None and values.get("max") is not None:
            parts.append(f"x∈[{_shown(values.pop('min'))}, {_shown(values.pop('max'))}]")
        flags = [f"{number} {flag}" for name, flag in _FLAGS.items() if (number := values.pop(name, 0))]
        parts += [f"{name.replace(' ', '_')}={_shown(value)}" for name, value in values.items() if not _dull(name, value)]
        return " ".join(parts + flags)

    def __str__(self) -> str:
        """A table with a line for each value."""
        width = max(map(len, self._values), default=0)
        return "\n".join([self._head(), *(f"  {name:{width}}  {_shown(value)}" for name, value in self._values.items())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(_shown(value))}</td></tr>"
                       for name, value in self._values.items())
        return f"<table><caption>{html.escape(self._head())}</caption>{rows}</table>"

    def _head(self) -> str:
        shape = "" if self.shape is None else "[" + ", ".join(map(str, self.shape)) + "]"
        return f"{self.dtype or 'tensor'}{shape}"


_FLAGS = {"nan count": "NaN!", "positive inf count": "+Inf!", "negative inf count": "-Inf!"}


def _strict(value: Any) -> Any:
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "none" if value is None else str(value)


def _dull(name: str, value: Any) -> bool:
    """Counts that are 0 say nothing on one line."""
    return value == 0 and name.endswith(" count")


def to_pandas(results: Statistics | dict[Any, Statistics] | Iterable[Statistics | dict[str, Any]]) -> Any:
    """A pandas.DataFrame with a row for each Statistics of a dict or list, or for each row of a statistic.csv. Of one Statistics
    it has one row."""
    import pandas
    if isinstance(results, Statistics):
        results = [results]
    each = results.values() if isinstance(results, dict) else results
    return pandas.DataFrame([_columns(one) for one in each], index=list(results) if isinstance(results, dict) else None)


def _columns(result: Statistics | dict[str, Any]) -> dict[str, Any]:
    if isinstance(result, Statistics):
        return {"dtype": result.dtype, "shape": result.shape, **result.to_dict()}
    return result


_native.connect(Error, Statistics, log)
