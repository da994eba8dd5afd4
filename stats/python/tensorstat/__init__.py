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
from ._compare import compare, origin
from ._findings import Finding, Findings, Report, findings, report
from ._follow import Row, follow
from ._library import DTYPES, STATISTICS, Error
from ._meter import DEFAULT_STATISTICS, Meter, Partial, Stream, fold, measure, measure_by, stream
from ._ranks import all_reduce
from ._read import read
from ._results import Statistics, to_pandas
from ._session import DumpSession
from ._watch import Watch, watch
from . import _native

__version__ = _native.VERSION
__all__ = ["DEFAULT_STATISTICS", "DTYPES", "STATISTICS", "DumpSession", "Error", "Finding", "Findings", "Meter", "Partial", "Report", "Statistics", "Stream",
           "Row", "Watch", "all_reduce", "compare", "findings", "fold", "follow", "measure", "measure_by", "origin", "read", "report", "stream", "to_pandas", "watch"]
