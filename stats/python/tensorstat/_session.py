"""Dump sessions: rows of statistics on disk while training runs."""
import ctypes

from ._library import CountersStruct, DumpTensorStruct, Error, PlaceStruct, SessionOptionsStruct, lib
from ._meter import Handle, meter_options
from ._tensors import view_of

_DIALECTS = {"ours": 0, "mindspore-2.7": 1, "mindspore-next": 2}
_LAYOUTS = {"rank": 0, "step": 1}
_SYNCS = {"never": 0, "close": 1, "row": 2}


class DumpSession:
    """What a data_dump.json wants, on disk, as MindSpore would have written it.

        session = tensorstat.DumpSession(config="data_dump.json")
        session.collect("Conv2D", "Default/net/Conv2D-op12", inputs=[x], outputs=[y], iteration=step)
        session.step_end(iteration=step)
        session.close()

    config      the path of a data_dump.json, or its text where it begins with a brace; None: the file that
                MINDSPORE_DUMP_CONFIG names, and a session that wants nothing where that is not set
    path        takes the place of the config's
    dialect     of statistic.csv: "ours", "mindspore-2.7", "mindspore-next"
    layout      "rank" (rank_0/net/graph/iteration) or "step"
    sync        when the disk is made to have what is written: "never", "close", "row"

    Thread-safe. Faults of disk and device are counted (`counters`) and said once to logging.getLogger("tensorstat").
    """

    def __init__(self, config=None, *, path=None, dialect="mindspore-2.7", layout="rank", sync="close",
                 memory_bytes=256 << 20, device_target="", framework_version="", budget_bytes=None, threads=0):
        meter = meter_options(budget_bytes, threads=threads)
        for word, choices in ((dialect, _DIALECTS), (layout, _LAYOUTS), (sync, _SYNCS)):
            if word not in choices:
                raise Error(f"{word!r} is none of {', '.join(choices)}")
        options = SessionOptionsStruct(
            meter=ctypes.pointer(meter), dialect=_DIALECTS[dialect], layout=_LAYOUTS[layout], sync=_SYNCS[sync],
            memory_bytes=memory_bytes, path=None if path is None else str(path).encode(), device_target=device_target.encode(),
            framework_version=framework_version.encode())
        made, at = ctypes.c_void_p(), ctypes.addressof(options)
        if config is None:
            lib.session_from_environment(at, made)
        elif str(config).lstrip().startswith("{"):
            lib.session_from_json(str(config).encode(), at, made)
        else:
            lib.session_from_file(str(config).encode(), at, made)
        self._handle = Handle(lib.session_close, made.value)
        self._operators = {}

    @property
    def enabled(self):
        """Whether the session wants anything at all."""
        return bool(lib.session_enabled(self._open()))

    def wants(self, op_type, name, *, rank=0, device=0, graph=0, iteration=0):
        """Whether anything of this operator is wanted at this place: ask before work is spent on it."""
        place = PlaceStruct(rank=rank, device=device, graph=graph, iteration=iteration)
        return bool(lib.wants(self._open(), ctypes.addressof(place), self._operator(op_type, name), 0))

    def collect(self, op_type, name, *, inputs=(), outputs=(), rank=0, device=0, graph=0, iteration=0):
        """Hands the tensors of one run of an operator over. Host tensors are copied before it returns."""
        place = PlaceStruct(rank=rank, device=device, graph=graph, iteration=iteration)
        at, operator = ctypes.addressof(place), self._operator(op_type, name)
        if not lib.wants(self._open(), at, operator, 0):
            return
        views, structs, shapes = [], [], []
        for io, tensors in ((0, inputs), (1, outputs)):
            for slot, tensor in enumerate(tensors):
                if tensor is None:
                    continue
                view = view_of(tensor)
                shapes.append((ctypes.c_uint64 * len(view.shape))(*view.shape))
                views.append(view)
                structs.append(DumpTensorStruct(tensor=ctypes.pointer(view.struct), shape=ctypes.addressof(shapes[-1]),
                                                dimension_count=len(view.shape), io=io, slot=slot))
        handed = (DumpTensorStruct * len(structs))(*structs)
        lib.collect(self._open(), at, operator, ctypes.addressof(handed), len(structs), 0)

    def step_end(self, *, rank=0, device=0, graph=0, iteration=0):
        """The iteration of this rank and graph is over. With `enable`, returns when all of it is on disk."""
        place = PlaceStruct(rank=rank, device=device, graph=graph, iteration=iteration)
        lib.step_end(self._open(), ctypes.addressof(place))

    def flush(self):
        """Returns when all that was handed over is in its file, or lost and counted."""
        lib.session_flush(self._open())

    @property
    def counters(self):
        """{"tensor_count": 12, "row_count": 12, "lost_row_count": 0, ...}"""
        counters = CountersStruct()
        lib.session_counters(self._open(), counters)
        return {name: getattr(counters, name) for name in CountersStruct.NAMES}

    def close(self):
        """Flushes, and ends the session. A second call does nothing."""
        self._handle.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _open(self):
        if not self._handle.close.alive:
            raise Error("the session was closed")
        return self._handle.address

    def _operator(self, op_type, name):
        key = op_type, name
        if key not in self._operators:
            self._operators[key] = lib.operator_named(self._open(), op_type.encode(), name.encode(), 0, 0, 0)
        return self._operators[key]
