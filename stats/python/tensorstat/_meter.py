"""Meters, streams and partials."""
import contextlib
import ctypes
import functools
import logging
import weakref

from ._library import (DTYPE_NUMBERS, NO_LIMIT, STATISTICS, Error, Log, MeterOptionsStruct, RequestStruct,
                       TensorStruct, lib)
from ._results import Statistics, values_at
from ._tensors import view_of

DEFAULT_STATISTICS = "max,min,avg,l2norm,count,nan count,negative inf count,positive inf count,zero count"
_PRECISIONS = {"high": 0, "low": 1}
_PLACES = {"auto": 0, "host": 1, "device": 2}

logger = logging.getLogger("tensorstat")


def _chosen(choices, word, what):
    if word not in choices:
        raise Error(f"{what} is {word!r}; it can be {', '.join(choices)}")
    return choices[word]


class Request:
    """The struct of a request, its address, and the names of its statistics in their order, each once."""

    def __init__(self, stats, precision, on):
        self.struct = RequestStruct(statistics=stats.encode(), precision=_chosen(_PRECISIONS, precision, "precision"),
                                    on=_chosen(_PLACES, on, "on"))
        self.address = ctypes.addressof(self.struct)
        self.names = names_of(stats)


def names_of(stats):
    """The catalog's names in "max,nan-count" or a list of names."""
    text = stats if isinstance(stats, str) else ",".join(stats)
    numbers, count = (ctypes.c_int32 * len(STATISTICS))(), ctypes.c_size_t()
    lib.statistics_named(text.encode(), numbers, len(numbers), count)
    return [STATISTICS[number] for number in numbers[:count.value]]


_kept_request = functools.lru_cache(maxsize=256)(Request)


def request_of(stats, precision="high", on="auto"):
    """A Request; kept, as most programs ask the same again and again."""
    return _kept_request(stats if isinstance(stats, str) else ",".join(stats), precision, on)


def log_to_logging(context, warning, text):
    logger.log(logging.WARNING if warning else logging.INFO, text.decode("utf-8", "replace"))


_LOG = Log(log_to_logging)


def meter_options(budget_bytes=None, platform=-1, device=-1, queue=None, threads=0):
    """The struct of a meter's options; what the library has to say goes to logging.getLogger("tensorstat")."""
    return MeterOptionsStruct(budget_bytes=NO_LIMIT if budget_bytes is None else budget_bytes, platform=platform,
                              device=device, queue=queue, thread_count=threads, log=_LOG)


class Handle:
    """A handle of the library, given back once: when this goes, or at the interpreter's exit."""

    def __init__(self, close, address):
        self.address = address
        self.close = weakref.finalize(self, close, address)


class Meter:
    """Measures tensors where they live. Thread-safe; the GIL is released while it works.

    budget_bytes      most bytes of device memory held at any time; None: no limit
    platform, device  clinfo's numbers of the OpenCL device; -1: the best there is
    queue             a pyopencl.CommandQueue to work on
    threads           host threads, the caller's among them; 0: one a core
    """

    def __init__(self, *, budget_bytes=None, platform=-1, device=-1, queue=None, threads=0):
        options = meter_options(budget_bytes, platform, device, None if queue is None else queue.int_ptr, threads)
        made = ctypes.c_void_p()
        lib.meter_open(ctypes.addressof(options), made)
        self._handle = Handle(lib.meter_close, made.value)
        self._of_queues = {}

    def measure(self, x, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
        """The statistics of a tensor; of a dict or list of tensors, a dict or list of them, from one batch.

        x          anything with __dlpack__, the buffer protocol or __array_interface__, a torch.Tensor on the CPU, or a
                   pyopencl.array.Array, which is measured in its own memory on its own queue. Nothing is copied.
        stats      names between commas, or a list of names; "all" are MindSpore's twelve
        precision  "high": exact, rounded once; "low": held in the tensor's own type
        on         "auto": where the data lives; "host"; "device"
        """
        request = request_of(stats, precision, on)
        if isinstance(x, dict):
            return dict(zip(x, self._batch([view_of(each) for each in x.values()], request)))
        if isinstance(x, (list, tuple)):
            return self._batch([view_of(each) for each in x], request)
        view = view_of(x)
        return self._on(view.queue)._measured([view], ctypes.addressof(view.struct), request)[0]

    def explain(self, x, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
        """Where each statistic of a tensor is computed, and why: {"max": ("host", "the tensor is in host memory")}."""
        request, view = request_of(stats, precision, on), view_of(x)
        made = ctypes.c_void_p()
        with _kept_where_in_use([view]):
            lib.measure(self._on(view.queue)._handle.address, ctypes.addressof(view.struct), 1, request.address, made)
        try:
            return {name: (lib.result_engine(made, 0, index).decode(), lib.result_reason(made, 0, index).decode())
                    for index, name in enumerate(request.names)}
        finally:
            lib.result_free(made)

    def fold(self, x, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
        """A Partial of a part of a tensor: to be merged with those of the other parts, here or elsewhere."""
        request, view = request_of(stats, precision, on), view_of(x)
        made = ctypes.c_void_p()
        meter = self._on(view.queue)
        with _kept_where_in_use([view]):
            lib.fold(meter._handle.address, ctypes.addressof(view.struct), 1, request.address, made)
        return Partial(made.value, request.names)

    def stream(self, dtype, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
        """A Stream: a tensor of `dtype` ("float32") that arrives in pieces."""
        return Stream(self, dtype, request_of(stats, precision, on))

    def device_memory(self):
        """(bytes of device memory held now, most bytes held so far)"""
        now, peak = ctypes.c_uint64(), ctypes.c_uint64()
        lib.meter_device_memory(self._handle.address, now, peak)
        return now.value, peak.value

    def _on(self, queue):
        """The meter of a PyOpenCL queue; this one where there is none."""
        if queue is None:
            return self
        if queue.int_ptr not in self._of_queues:
            self._of_queues[queue.int_ptr] = Meter(queue=queue)
        return self._of_queues[queue.int_ptr]

    def _batch(self, views, request):
        queues = {view.queue.int_ptr: view.queue for view in views if view.queue is not None}
        if len(queues) > 1:
            return [self._on(view.queue)._batch([view], request)[0] for view in views]
        structs = (TensorStruct * len(views))(*[view.struct for view in views])
        meter = self._on(*queues.values()) if queues else self
        return meter._measured(views, ctypes.addressof(structs), request) if views else []

    def _measured(self, views, structs, request):
        made = ctypes.c_void_p()
        with _kept_where_in_use(views):
            lib.measure(self._handle.address, structs, len(views), request.address, made)
        return _results(made.value, request.names, views)


_kept_for_ever = []


@contextlib.contextmanager
def _kept_where_in_use(views):
    """What a failed device may still read is never given back."""
    try:
        yield
    except Error as failure:
        if failure.code == "in use":
            _kept_for_ever.append(views)
        raise


def _results(result, names, tensors):
    """Statistics of a tensorstat_result, which is given back."""
    try:
        return [Statistics(dict(zip(names, values_at(lib.result_values(result, index), len(names)))), tensor.dtype,
                           tensor.shape) for index, tensor in enumerate(tensors)]
    finally:
        lib.result_free(result)


class Stream:
    """A tensor that arrives in pieces, in C order, cut between any two elements."""

    def __init__(self, meter, dtype, request):
        made = ctypes.c_void_p()
        if dtype not in DTYPE_NUMBERS:
            raise Error(f"{dtype!r} is no dtype; known are {', '.join(DTYPE_NUMBERS)}")
        lib.stream_open(meter._handle.address, DTYPE_NUMBERS[dtype], request.address, made)
        self._handle, self._request = Handle(lib.stream_close, made.value), request
        self.dtype, self._bytes = dtype, 0

    def append(self, piece):
        """Takes whole elements: bytes, or an array of the stream's dtype in C order."""
        view = view_of(piece)
        if view.struct.stride_bytes:
            raise Error("a piece of a stream lies in C order; numpy.ascontiguousarray(piece) makes it so")
        size = view.struct.element_count * lib.dtype_bytes(view.struct.dtype)
        lib.stream_append(self._handle.address, view.struct.address, size)
        self._bytes += size

    def finish(self):
        """The Statistics of all that was appended; once."""
        made = ctypes.c_void_p()
        lib.stream_finish(self._handle.address, made)
        return _results(made.value, self._request.names, [self])[0]

    @property
    def shape(self):
        """Of what was appended so far: (elements,)."""
        return (self._bytes // lib.dtype_bytes(DTYPE_NUMBERS[self.dtype]),)


class Partial:
    """What is kept of a part of a tensor. Partials of the same dtype and request merge in any order, in any process
    or machine, to the bits that one measurement of the whole gives. They pickle."""

    def __init__(self, address, names):
        self._handle, self._names = Handle(lib.partial_free, address), names

    def merge(self, other):
        """Takes the elements of `other` in; returns itself."""
        lib.partial_merge(self._handle.address, other._handle.address)
        return self

    __iadd__ = merge

    def __add__(self, other):
        return Partial.parse(self.serialize(), self._names).merge(other)

    def finish(self):
        """The Statistics of all elements so far."""
        value = ctypes.create_string_buffer(32)
        found = {}
        for name in self._names:
            lib.partial_finish(self._handle.address, lib.statistic_named(name.encode()), ctypes.addressof(value))
            found[name] = values_at(ctypes.addressof(value), 1)[0]
        return Statistics(found)

    def serialize(self):
        """Its bytes: equal of equal partials, on any machine."""
        size = ctypes.c_size_t()
        lib.partial_serialize(self._handle.address, None, 0, size)
        buffer = ctypes.create_string_buffer(size.value)
        lib.partial_serialize(self._handle.address, ctypes.addressof(buffer), size.value, size)
        return buffer.raw

    @staticmethod
    def parse(data, stats=DEFAULT_STATISTICS):
        """The partial whose bytes these are; nothing is taken on trust. `stats` are those that finish() gives."""
        made = ctypes.c_void_p()
        lib.partial_parse(data, len(data), made)
        return Partial(made.value, names_of(stats))

    def __reduce__(self):
        return Partial.parse, (self.serialize(), self._names)


_default = None


def default_meter():
    """The meter of tensorstat.measure: made at its first use."""
    global _default
    if _default is None:
        _default = Meter()
    return _default


def measure(x, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
    return default_meter().measure(x, stats, precision=precision, on=on)


def fold(x, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
    return default_meter().fold(x, stats, precision=precision, on=on)


def stream(dtype, stats=DEFAULT_STATISTICS, *, precision="high", on="auto"):
    return default_meter().stream(dtype, stats, precision=precision, on=on)


for _each in (measure, fold, stream):
    _each.__doc__ = getattr(Meter, _each.__name__).__doc__
