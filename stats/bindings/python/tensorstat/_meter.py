"""Meters, streams and partials."""
import functools
import operator
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from . import _native
from ._library import NO_LIMIT, Error, chosen
from ._named import by_name, named_tensors
from ._results import Statistics

__all__ = ["DEFAULT_STATISTICS", "Meter", "Partial", "Stream", "fold", "measure", "measure_by", "stream"]

DEFAULT_STATISTICS = "max,min,avg,l2norm,count,nan count,negative inf count,positive inf count,zero count"
Key = TypeVar("Key")
_PRECISIONS = {"high": 0, "low": 1}
_SCALES = {"b": 0, "greater": 1}
_PLACES = {"auto": 0, "host": 1, "device": 2}


@functools.lru_cache(maxsize=256)
def _request(stats: str, precision: str, on: str, cast_scale: float) -> Any:
    return _native.request(stats, chosen(_PRECISIONS, precision, "precision"), chosen(_PLACES, on, "on"), cast_scale)


def request_of(stats: str | Iterable[str], precision: str = "high", on: str = "auto", cast_scale: float = 1.0) -> Any:
    """The request in the extension's form; cached, because most programs ask the same again and again."""
    return _request(stats if isinstance(stats, str) else ",".join(stats), precision, on, cast_scale)


class Meter:
    """Measures tensors where they live. Thread-safe; the GIL is released while it works.

    budget_bytes      most bytes of device memory held at any time; None: no limit
    platform, device  clinfo's numbers of the OpenCL device; -1: the best there is
    queue             a pyopencl.CommandQueue to work on
    threads           host threads, the caller's among them; 0: one a core

    Its messages go to logging.getLogger("tensorstat").
    """

    def __init__(self, *, budget_bytes: int | None = None, platform: int = -1, device: int = -1, queue: Any = None,
                 threads: int = 0) -> None:
        self._handle = _native.open_meter(NO_LIMIT if budget_bytes is None else budget_bytes, platform, device,
                                          0 if queue is None else queue.int_ptr, threads)
        self._of_queues = _MetersOfQueues()

    @overload
    def measure(self, x: dict[Key, Any], stats: str | Iterable[str] = ..., *, precision: str = ...,  # type: ignore[misc]
                on: str = ..., cast_scale: float = ...) -> dict[Key, Statistics]: ...
    @overload
    def measure(self, x: list[Any] | tuple[Any, ...], stats: str | Iterable[str] = ..., *,  # type: ignore[misc]
                precision: str = ..., on: str = ..., cast_scale: float = ...) -> list[Statistics]: ...
    @overload
    def measure(self, x: Any, stats: str | Iterable[str] = ..., *, precision: str = ..., on: str = ...,
                cast_scale: float = ...) -> Statistics: ...
    def measure(self, x: Any, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
                on: str = "auto", cast_scale: float = 1.0) -> Any:
        """The statistics of a tensor. A dict or list of tensors gives a dict or list of statistics, from one batch. A
        torch.nn.Module gives the statistics of its state_dict.

        x           a NumPy array, a torch.Tensor, a pyopencl.array.Array, which is measured in its own memory on its own
                    queue, and any other object with __dlpack__ or the buffer protocol. Nothing is copied, except that data in CUDA's memory
                    that its GPU does not fold, or in ROCm's memory, comes to the host in windows. It is read behind torch's current stream
                    or the default one. Nothing may change it meanwhile. A numpy.ma array with masked elements is refused.
                    Error names the tensor of a dict that cannot be measured, such as a sparse one.
        stats       names between commas, or a list of names; "all" are MindSpore's twelve
        precision   "high": exact, rounded once; "low": held in the tensor's own type
        on          "auto": where the data lives; "host"; "device"
        cast_scale  what each element is times before a cast that is counted ("e4m3fn underflow"): finite, above 0
        """
        named = named_tensors(x)
        if named is None:
            return _native.measure(self, x, request_of(stats, precision, on, cast_scale))
        try:
            return _native.measure(self, named, request_of(stats, precision, on, cast_scale))
        except Error as refused:
            raise by_name(refused, named) from None

    def explain(self, x: Any, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
                on: str = "auto") -> dict[str, tuple[str, str]]:
        """Where each statistic of a tensor is computed, and why: {"max": ("host", "the tensor is in host memory")}."""
        return _native.explain(self, x, request_of(stats, precision, on))

    def measure_by(self, x: Any, axes: int | Iterable[int] = (), stats: str | Iterable[str] = DEFAULT_STATISTICS, *,
                   block: int = 0, precision: str = "high", on: str = "auto", cast_scale: float = 1.0) -> list[Statistics]:
        """The Statistics of each row of an array: of each channel, or of each block.

        axes   kept: there is a row for each of their indices, in C order; -1 is the last. measure_by(x, 0)[k] is of x[k]
        block  instead of axes: rows of so many elements that follow each other in C order; the last may be shorter

        Otherwise as measure(). An index ("argmax") counts within its row. At most 2**20 rows.
        """
        try:
            kept: tuple[int, ...] = (operator.index(axes),)  # type: ignore[arg-type]
        except TypeError:
            kept = tuple(axes)  # type: ignore[arg-type]
        return _native.measure_by(self, x, request_of(stats, precision, on, cast_scale), kept, block)

    def fold(self, x: Any, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
             on: str = "auto", cast_scale: float = 1.0) -> "Partial":
        """A Partial of a part of a tensor. Merge it with the partials of the other parts, here or elsewhere."""
        request = request_of(stats, precision, on, cast_scale)
        return Partial(_native.fold(self, x, request), request)

    def compare(self, a: Any, b: Any, *, rtol: float = 0.0, atol: float = 0.0, scale: str = "b",
                on: str = "auto") -> dict[str, Any]:
        """Every statistic of two arrays of one shape, element beside element, in one pass: {"cosine": 0.99, ...}.

        a, b        what measure() takes; the dtypes may differ. b is the one that a is held against
        rtol, atol  an element is within where |a - b| <= atol + rtol * s
        scale       s is "b": |b|, as numpy.allclose has it; or "greater": of |a| and |b|, as math.isclose has it
        on          "auto": where the data lives, on the device where either of them is in its memory, behind what is in
                    that array's queue (a's, where both have one: then finish the other first); "host"; "device"

        Sums are exact, and each value is rounded once. A value may be None: an index without an element, the cosine if one array is all
        zeros. NaN and NaN are equal, as are Inf and the same Inf; NaN or Inf against anything
        else is infinitely far away. Error where the shapes differ.
        """
        return _native.compare(self, a, b, rtol, atol, chosen(_SCALES, scale, "scale"), chosen(_PLACES, on, "on"))

    def stream(self, dtype: str, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
               on: str = "auto", cast_scale: float = 1.0) -> "Stream":
        """A Stream: a tensor of `dtype` ("float32") that arrives in pieces."""
        return Stream(self, dtype, request_of(stats, precision, on, cast_scale))

    def device_memory(self) -> tuple[int, int]:
        """(bytes of device memory held now, most bytes held so far)"""
        return _native.device_memory(self._handle)

    def _on(self, queue: Any) -> Any:
        """The handle of the meter that works on a PyOpenCL queue; without a queue this meter's."""
        if queue is None:
            return self._handle
        return self._of_queues.meter(queue)._handle


class _Mark:
    """Represents a PyOpenCL queue that takes no weak reference (since PyOpenCL 2025): it lives as long as the queue."""


def _lives_with(queue: Any) -> Any:
    """An object that takes weak references and goes when the queue's object goes; None if the queue holds nothing."""
    try:
        weakref.ref(queue)
        return queue
    except TypeError:
        pass
    try:
        return queue.__dict__.setdefault("_tensorstat", _Mark())
    except AttributeError:
        return None


class _MetersOfQueues:
    """A meter for each PyOpenCL queue that somebody has. A meter retains its queue, so it goes when the last object of the
    queue goes."""

    def __init__(self) -> None:
        self._alone = threading.RLock()  # a queue may go, and be forgotten, while this thread is in here
        self._kept: dict[int, tuple[Meter, weakref.ref[Any]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def meter(self, queue: Any) -> Meter:
        address, alive = queue.int_ptr, _lives_with(queue)
        with self._alone:
            meter, known = self._kept.get(address, (None, None))
            if meter is None or known is None or alive is None or known() is not alive:
                meter = meter or Meter(queue=queue)
                if alive is not None:
                    self._kept[address] = meter, weakref.ref(alive, _forgetting(weakref.ref(self), address))
            return meter

    def _forget(self, address: int, gone: "weakref.ref[Any]") -> None:
        with self._alone:
            if address in self._kept and self._kept[address][1] is gone:
                del self._kept[address]


def _forgetting(owner: "weakref.ref[_MetersOfQueues]", address: int) -> "Callable[[weakref.ref[Any]], None]":
    def forget(gone: "weakref.ref[Any]") -> None:
        meters = owner()
        if meters is not None:
            meters._forget(address, gone)
    return forget


class Stream:
    """A tensor that arrives in pieces, in C order, cut between any two elements.

        stream = tensorstat.stream("float32")
        for piece in pieces: stream.append(piece)
        stream.finish().max
    """

    def __init__(self, meter: Meter, dtype: str, request: Any) -> None:
        self._handle, self._request = _native.open_stream(meter._handle, dtype, request), request
        self.dtype, self._bytes, self._unused = dtype, 0, 0
        self._alone = threading.Lock()

    def append(self, piece: Any, unused: int = 0) -> None:
        """Takes whole elements: bytes (a bytes object, bytearray or memoryview of them), or an array of the stream's dtype in
        C order; Error if the array has another dtype. The piece may be changed afterwards. If elements share bytes, as in
        int4, the last byte of the last piece may hold `unused` elements less than it could.
        """
        with self._alone:
            self._bytes += _native.stream_append(self._handle, piece, unused, self.dtype)
            self._unused += unused

    def finish(self) -> Statistics:
        """The Statistics of all that was appended; once."""
        with self._alone:
            return _native.stream_finish(self._handle, self.dtype, *self.shape, self._request)

    @property
    def shape(self) -> tuple[int]:
        """The shape so far: (elements,)."""
        shared = _native.dtype_elements_a_byte(self.dtype)
        return (self._bytes // _native.dtype_bytes(self.dtype) * shared - self._unused,)


class Partial:
    """The kept state of a part of a tensor. Partials of the same dtype and request merge in any order, in any process or machine, to the
    bits that one measurement of the whole gives. They pickle.

        tensorstat.fold(one_half).merge(tensorstat.fold(other_half)).finish().l2norm
    """

    def __init__(self, handle: Any, request: Any) -> None:
        self._handle, self._request = handle, request

    def merge(self, other: "Partial") -> "Partial":
        """Takes the elements of `other` in; returns itself."""
        _native.partial_merge(self._handle, other._handle)
        return self

    __iadd__ = merge

    def __add__(self, other: "Partial") -> "Partial":
        return Partial(_native.partial_parse(self.serialize()), self._request).merge(other)

    def move_to(self, first_element: int) -> "Partial":
        """Says where the part begins: its first element is element `first_element` of the whole tensor, in C order. Then
        indices (argmax and the like) count in the whole tensor. Returns itself. Call it once, before merging."""
        _native.partial_move_to(self._handle, first_element)
        return self

    def finish(self) -> Statistics:
        """The Statistics of all elements so far. Error if the partial does not keep what a statistic needs."""
        return _native.partial_finish(self._handle, self._request)

    def serialize(self) -> bytes:
        """Its bytes. Equal partials have equal bytes, on any machine."""
        return _native.partial_serialize(self._handle)

    @staticmethod
    def parse(data: bytes, stats: str | Iterable[str] = DEFAULT_STATISTICS) -> "Partial":
        """Reads the bytes of serialize(), without trust: Error if they are not a partial. `stats`: what finish() gives."""
        return Partial(_native.partial_parse(data), request_of(stats))

    def __reduce__(self) -> tuple[Any, ...]:
        return Partial.parse, (self.serialize(), _native.request_names(self._request))


@functools.cache
def default_meter() -> Meter:
    """The meter of tensorstat.measure: made at its first use."""
    return Meter()


def fold(x: Any, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high", on: str = "auto",
         cast_scale: float = 1.0) -> Partial:
    return default_meter().fold(x, stats, precision=precision, on=on, cast_scale=cast_scale)


def stream(dtype: str, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
           on: str = "auto", cast_scale: float = 1.0) -> Stream:
    return default_meter().stream(dtype, stats, precision=precision, on=on, cast_scale=cast_scale)


@overload
def measure(x: dict[Key, Any], stats: str | Iterable[str] = ..., *, precision: str = ...,  # type: ignore[misc]
            on: str = ..., cast_scale: float = ...) -> dict[Key, Statistics]: ...
@overload
def measure(x: list[Any] | tuple[Any, ...], stats: str | Iterable[str] = ..., *,  # type: ignore[misc]
            precision: str = ..., on: str = ..., cast_scale: float = ...) -> list[Statistics]: ...
@overload
def measure(x: Any, stats: str | Iterable[str] = ..., *, precision: str = ..., on: str = ...,
            cast_scale: float = ...) -> Statistics: ...
def measure(x: Any, stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high", on: str = "auto",
            cast_scale: float = 1.0) -> Any:
    return default_meter().measure(x, stats, precision=precision, on=on, cast_scale=cast_scale)


def measure_by(x: Any, axes: int | Iterable[int] = (), stats: str | Iterable[str] = DEFAULT_STATISTICS, *, block: int = 0,
               precision: str = "high", on: str = "auto", cast_scale: float = 1.0) -> list[Statistics]:
    return default_meter().measure_by(x, axes, stats, block=block, precision=precision, on=on, cast_scale=cast_scale)


for _each in (measure, measure_by, fold, stream):
    _each.__doc__ = getattr(Meter, _each.__name__).__doc__
