"""Dump sessions: rows of statistics on disk while training runs."""
import os
import weakref
from collections.abc import Sequence
from typing import Any

from . import _native
from ._library import NO_LIMIT, Error, chosen

_DIALECTS = {"ours": 0, "mindspore-2.7": 1, "mindspore-next": 2, "msprobe-o2": 4}
_LAYOUTS = {"rank": 0, "step": 1}
_SYNCS = {"never": 0, "close": 1, "row": 2}


class DumpSession:
    """What a config wants, on disk: a data_dump.json as MindSpore would have written it, msprobe's config.json or CANN's
    acl.json as those would.

        session = tensorstat.DumpSession("data_dump.json")
        session.collect("Conv2D", "Default/net/Conv2D-op12", inputs=[x], outputs=[y], iteration=step)
        session.step_end(iteration=step)
        session.close()

    config      the path of a config, or its text where it begins with a brace; None: the file that
                MINDSPORE_DUMP_CONFIG names, and a session that wants nothing where that is not set
    path        takes the place of the config's
    memory_bytes  host memory for tensors whose bits have to outlive collect(); 0: whatever is wanted of a tensor is done
                before collect() returns
    dialect     of statistic.csv: "ours", "mindspore-2.7", "mindspore-next", "msprobe-o2"
    layout      "rank" (rank_0/net/graph/iteration) or "step"
    sync        when the disk is made to have what is written: "never", "close", "row"
    framework   for msprobe's dump.json: "mindspore", which "" stands for, "pytorch" or "mindtorch"
    world_size  how many ranks the job has, for TorchAir's folders
    device_rows  with stat_calc_mode "device": rows as MindSpore has them from its device, with True, False and null

    Thread-safe. Faults of disk and device are counted (`counters`) and said once to logging.getLogger("tensorstat").
    """

    def __init__(self, config: str | os.PathLike[str] | None = None, *, path: str | os.PathLike[str] | None = None,
                 dialect: str = "mindspore-2.7", layout: str = "rank", sync: str = "close", memory_bytes: int = 256 << 20,
                 device_target: str = "", framework_version: str = "", framework: str = "", world_size: int = 1,
                 device_rows: bool = False, budget_bytes: int | None = None, threads: int = 0) -> None:
        kind = 0 if config is None else 2 if str(config).lstrip().startswith("{") else 1
        handle = _native.open_session(
            kind, None if config is None else str(config), chosen(_DIALECTS, dialect, "dialect"),
            chosen(_LAYOUTS, layout, "layout"), chosen(_SYNCS, sync, "sync"), memory_bytes,
            None if path is None else str(path), device_target, framework_version, framework, world_size, device_rows,
            NO_LIMIT if budget_bytes is None else budget_bytes, threads)
        self._handles = [handle]
        self._operators: dict[tuple[str, str], Any] = {}
        self._last_counters: dict[str, int] = {}
        # A handle that nobody has any more is closed: here, by close(), and at the interpreter's exit.
        self._close = weakref.finalize(self, self._handles.clear)

    @property
    def enabled(self) -> bool:
        """Whether the session wants anything at all."""
        return _native.session_enabled(self._handle())

    def wants(self, op_type: str, name: str, *, rank: int = 0, device: int = 0, graph: int = 0, iteration: int = 0) -> bool:
        """Whether anything of this operator is wanted at this place: ask before work is spent on it."""
        return _native.wants(self._handle(), self._operator(op_type, name), rank, device, graph, iteration)

    def describe(self, op_type: str, name: str, *, stack: Sequence[str] = (), parent: str = "") -> None:
        """For stack.json and construct.json of msprobe: the frames that the operator comes from, and the module that it is
        a part of. Said before its first run."""
        _native.describe(self._handle(), self._operator(op_type, name), stack, parent)

    def collect(self, op_type: str, name: str, *, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), rank: int = 0,
                device: int = 0, graph: int = 0, iteration: int = 0, layout: str = "") -> None:
        """Hands the tensors of one run of an operator over; None stands for one that is missing. Host tensors are
        measured before it returns, or copied where their bits have to outlive it (files of tensors, digests). Of PyTorch's, requires_grad is known to msprobe's dump.json.

        layout  for msprobe's dump.json: members of the call as json.dumps(indent=1) writes them, in which tensors stand as
                "\\x01i0\\x01" for inputs[0] and "\\x01o0\\x01" for outputs[0]; "": each stands at its place
        """
        _native.collect(self._handle(), self._operator(op_type, name), rank, device, graph, iteration, inputs, outputs, layout)

    def step_end(self, *, rank: int = 0, device: int = 0, graph: int = 0, iteration: int = 0) -> bool:
        """The iteration of this rank and graph is over. With `enable`, returns when all of it is on disk, and whether it
        is; else True."""
        return _native.step_end(self._handle(), None, rank, device, graph, iteration)

    def flush(self) -> bool:
        """Returns when all that was handed over is in its file, waits for the disk, or is lost and counted: whether all of
        it is in its file."""
        return _native.session_flush(self._handle())

    def start(self) -> None:
        """Dumps from now on, at whatever iteration: the config's do not count from the first start() or stop() on."""
        _native.session_start(self._handle())

    def stop(self) -> bool:
        """Dumps nothing until the next start(). With `enable`, returns when all that came before is on disk, and whether
        it is; else True."""
        return _native.session_stop(self._handle())

    def set_initial_iteration(self, iteration: int) -> None:
        """From now on this is added to every iteration, in place of the config's initial_iteration."""
        _native.set_initial_iteration(self._handle(), iteration)

    @property
    def counters(self) -> dict[str, int]:
        """{"tensor_count": 12, "row_count": 12, "lost_row_count": 0, ...}; of a closed session, its last."""
        return _native.session_counters(self._handles[0]) if self._handles else dict(self._last_counters)

    def close(self) -> None:
        """Flushes, and ends the session. A second call does nothing."""
        if self._handles:
            _native.session_end(self._handle())  # which may be the end of rows that waited for the disk
            self._last_counters = self.counters
        self._close()

    def __enter__(self) -> "DumpSession":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _handle(self) -> Any:
        if not self._handles:
            raise Error("the session was closed")
        return self._handles[0]

    def _operator(self, op_type: str, name: str) -> Any:
        key = op_type, name
        if key not in self._operators:
            self._operators[key] = _native.operator_named(self._handle(), op_type, name)
        return self._operators[key]
