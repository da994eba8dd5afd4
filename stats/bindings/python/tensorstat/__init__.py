"""Statistics of tensors, computed where the tensors live.

    >>> import numpy, tensorstat
    >>> r = tensorstat.measure(numpy.array([1.0, 2.0, numpy.nan], numpy.float32))
    >>> r.nan_count
    1
    >>> r
    float32[3] n=3 x∈[nan, nan] avg=nan l2norm=nan 1 NaN!
    >>> tensorstat.measure({"a": numpy.arange(6), "b": numpy.eye(3)}, "max,l2norm")["b"].max
    1.0

avg and l2norm are the exact value, rounded once: the same bits on every machine, device and number of threads.
NaN and Inf propagate into max, min, avg and l2norm, and are counted beside. "negative zero count" counts elements below
zero: MindSpore's name, and its meaning.
"""
import sys

if "t" in sys.abiflags:  # free-threaded: the extension is built for objects of another layout
    raise ImportError("tensorstat needs a Python with the GIL; this one is free-threaded: use the python3 without t in its name")

from . import _alerts, _check, _compare, _findings, _follow, _library, _meter, _ranks, _read, _replicas, _results, _session, _watch, _native
from ._alerts import *
from ._check import *
from ._compare import *
from ._findings import *
from ._follow import *
from ._library import *
from ._meter import *
from ._ranks import *
from ._read import *
from ._replicas import *
from ._results import *
from ._session import *
from ._watch import *

__version__ = _native.VERSION
__all__: list[str] = []
__all__ += _alerts.__all__
__all__ += _check.__all__
__all__ += _compare.__all__
__all__ += _findings.__all__
__all__ += _follow.__all__
__all__ += _library.__all__
__all__ += _meter.__all__
__all__ += _ranks.__all__
__all__ += _read.__all__
__all__ += _replicas.__all__
__all__ += _results.__all__
__all__ += _session.__all__
__all__ += _watch.__all__
