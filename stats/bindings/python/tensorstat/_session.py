"""Dump sessions: rows of statistics on disk while training runs."""
import json
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _native
from ._alerts import Alert, AlertSettings, taken
from ._library import NO_LIMIT, Error, chosen, logger

__all__ = ["DumpSession"]

_DIALECTS = {"ours": 0, "mindspore-2.7": 1, "mindspore-next": 2, "msprobe-o2": 4}
_LAYOUTS = {"rank": 0, "step": 1}
_SYNCS = {"never": 0, "close": 1, "row": 2}
_MARK = re.compile(r'"\\u0001([io][0-9]+)\\u0001"')  # as json.dumps writes the text of a tensor's place
_NO_ID = 2**64 - 1  # TENSORSTAT_NO_ID
_MOST_LEVELS = 100  # of lists and dicts in what save() takes


def _laid_out(value: Any, tensors: list[Any], level: int) -> Any:
    """The layout of a value for msprobe's debug.json. Appends its tensors to `tensors`."""
    if level > _MOST_LEVELS:
        raise ValueError(f"save: more than {_MOST_LEVELS} lists inside each other")
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(name): _laid_out(each, tensors, level + 1) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_laid_out(each, tensors, level + 1) for each in value]
    if value is None:
        return None
    if isinstance(value, (bool, int, float, str)):
        return {"type": type(value).__name__, "value": value}
    tensors.append(value)
    return f"\x01o{len(tensors) - 1}\x01"


def _without_arguments(tree: Any) -> Any:
    """The layout of a value's gradients: numbers and texts have none."""
    if isinstance(tree, list):
        return [_without_arguments(each) for each in tree]
    if isinstance(tree, dict):
        is_argument = set(tree) == {"type", "value"} and isinstance(tree["type"], str) and not tree["type"].startswith("\x01")
        return None if is_argument else {name: _without_arguments(each) for name, each in tree.items()}
    return tree


class _Gradient:
    """A hook of a tensor that was saved: saves the first gradient that backward computes of it. The training never gets to know of it."""

    def __init__(self, session: "DumpSession", key: str, tree: Any, slot: int, rank: int, iteration: int) -> None:
        self._session: DumpSession | None = session
        self._key, self._tree, self._slot, self._rank, self._iteration = key, tree, slot, rank, iteration

    def __call__(self, gradient: Any) -> None:
        session, self._session = self._session, None
        if session is None or not session._handles:
            return
        try:
            session._save(self._key, self._tree, {self._slot: gradient}, self._rank, self._iteration)
        except Exception as fault:
            logger.warning("%s is not saved: %s: %s", self._key, type(fault).__name__, fault)


class DumpSession:
    """A dump by a config, on disk: for a data_dump.json as MindSpore would have written it, for msprobe's config.json or CANN's acl.json as
    those would.

        session = tensorstat.DumpSession("data_dump.json")
        session.collect("Conv2D", "Default/net/Conv2D-op12", inputs=[x], outputs=[y], iteration=step)
        session.step_end(iteration=step)
        session.close()

    config      the path of a config, or its text where it begins with a brace; None: the file that
                MINDSPORE_DUMP_CONFIG names, and a session that wants nothing where that is not set
    path        takes the place of the config's
    memory_bytes  host memory for copies of tensors that are still needed after collect(); 0: everything is done before
                collect() returns
    dialect     of statistic.csv: "ours", "mindspore-2.7", "mindspore-next", "msprobe-o2"
    layout      "rank" (rank_0/net/graph/iteration) or "step"
    sync        when written files are flushed to the disk: "never", "close", "row"
    framework   for msprobe's dump.json: "mindspore", which "" stands for, "pytorch" or "mindtorch"
    world_size  how many ranks the job has, for TorchAir's folders
    device_rows  with stat_calc_mode "device": rows as MindSpore has them from its device, with True, False and null
    alerts      rules that are asked of each row: "nan", ["l2norm > 8 * median(l2norm, 50)", ...]; stats/doc/alerts.md
    keep        the rows of so many steps are kept and not written, except the rows of an event; (before, after)
    on_alert    called with each Alert by step_end() and close(); None: it is logged
    only_bad    writes only the rows of a step with NaN or Inf and of the step before: alerts "nan" and "inf", keep=1
    save_tensors  the tensor that an alert names, and the inputs of its operator, are saved in the event's folder
    event_bytes  the limit of an event's files, for each rank
    ordered_by_queue  a promise: PyTorch's tensors in CUDA's memory change, or are freed, only by work of the stream that is
                current in collect(), or by what waits for such work; other libraries' tensors only by work of CUDA's default
                stream. Then collect() enqueues their statistics behind that stream and returns; step_end() enqueues one
                copy of them, and their rows come after it. Not for digests and quantiles, nor with save_tensors: those are
                measured before collect() returns, which is said once. Only a double of CUDA's driver has tested it

    settles_later  from the first tensor on that ordered_by_queue enqueues, step_end() waits for nothing, in spite of `enable` and
                alerts; settle() waits

    Thread-safe. Faults of disk and device are counted (`counters`) and said once to logging.getLogger("tensorstat").
    """

    def __init__(self, config: str | os.PathLike[str] | None = None, *, path: str | os.PathLike[str] | None = None,
                 dialect: str = "mindspore-2.7", layout: str = "rank", sync: str = "close", memory_bytes: int = 256 << 20,
                 device_target: str = "", framework_version: str = "", framework: str = "", world_size: int = 1,
                 device_rows: bool = False, budget_bytes: int | None = None, threads: int = 0, alerts: str | Sequence[str] = (),
                 keep: int | tuple[int, int] = 0, on_alert: Callable[[Alert], Any] | None = None, only_bad: bool = False,
                 save_tensors: bool = False, event_bytes: int = 1 << 30, ordered_by_queue: bool = False,
                 settles_later: bool = False) -> None:
        kind = 0 if config is None else 2 if str(config).lstrip().startswith("{") else 1
        handle = _native.open_session(
            kind, None if config is None else str(config), chosen(_DIALECTS, dialect, "dialect"),
            chosen(_LAYOUTS, layout, "layout"), chosen(_SYNCS, sync, "sync"), memory_bytes,
            None if path is None else str(path), device_target, framework_version, framework, world_size, device_rows,
            NO_LIMIT if budget_bytes is None else budget_bytes, threads, ordered_by_queue, settles_later)
        asked = AlertSettings(alerts, keep, event_bytes, only_bad, saves_tensors=save_tensors)
        if groups := asked.set(handle):
            raise Error(f"alerts: 'differs over {groups[0]}' needs watch(), which compares replicas")
        self._on_alert = on_alert
        self._handles = [handle]
        self._operators: dict[tuple[str, str, bool, int | None, int | None], Any] = {}
        self._last_counters: dict[str, int] = {}
        self._saved: dict[tuple[int, str], tuple[tuple[int, int] | None, int]] = {}  # by rank and name: the step, values in it
        self._waiting: dict[int, tuple[int, list[Any]]] = {}  # by rank: the step, hooks of saved leaves
        self._left_out: set[str] = set()
        self._left_out_count = 0
        self._awaits_failures, self._awaits_kernel_args = _native.session_demands(handle)
        self._awaits_flags = _native.session_enabled(handle) and _dumps_flagged_operators(config)
        # A handle that nobody has any more is closed: here, by close(), and at the interpreter's exit.
        self._close = weakref.finalize(self, self._handles.clear)

    @property
    def enabled(self) -> bool:
        """Whether the session wants anything at all."""
        return _native.session_enabled(self._handle())

    def wants(self, op_type: str, name: str, *, rank: int = 0, device: int = 0, graph: int = 0, iteration: int = 0,
              set_dump: bool = False, failed: bool | None = None) -> bool:
        """Whether anything of this operator is wanted at this place: ask before work is spent on it."""
        return _native.wants(self._handle(), self._operator(op_type, name, set_dump), rank, device, graph, iteration,
                             self._has_failed(failed))

    def describe(self, op_type: str, name: str, *, stack: Sequence[str] = (), parent: str = "") -> None:
        """For stack.json and construct.json of msprobe: the frames that the operator comes from, and the module that it is
        a part of. Said before its first run."""
        _native.describe(self._handle(), self._operator(op_type, name), stack, parent)

    def collect(self, op_type: str, name: str, *, inputs: Sequence[Any] = (), outputs: Sequence[Any] = (), rank: int = 0,
                device: int = 0, graph: int = 0, iteration: int = 0, layout: str = "", set_dump: bool = False,
                failed: bool | None = None, stream_id: int | None = None, task_id: int | None = None,
                constants: bool = False) -> None:
        """Hands the tensors of one run of an operator over; None stands for one that is missing. Host tensors are measured
        before it returns, or copied where their bits have to outlive it (files of tensors, digests). Of PyTorch's,
        requires_grad is known to msprobe's dump.json. What cannot be measured, such as an array of text, is left out, counted
        as lost, and said once for each operator.

        layout    for msprobe's dump.json: members of the call as json.dumps(members, indent=1) writes them, in which the text
                  "\\x01i0\\x01" stands for inputs[0] and "\\x01o0\\x01" for outputs[0]; "": each stands at its place
        set_dump  whether the user flagged the operator, which a config with dump_mode 2 asks for; with acl.json it is dumped
                  in addition to the operators of dump_list
        failed    whether the operator failed, which a config with op_debug_mode 4 asks for
        stream_id, task_id  where the operator ran; None: unknown, which is written as 65535 with a data_dump.json without
                  e2e_dump_settings (MindSpore's O2; not on the device targets CPU and GPU), and else as 0
        constants  whether the tensors are constants of the graph, which have their own folder and no iteration
        """
        handle, operator = self._handle(), self._operator(op_type, name, set_dump, stream_id, task_id)
        text, has_failed = _MARK.sub("\x01\\1\x01", layout), self._has_failed(failed)
        try:
            _native.collect(handle, operator, rank, device, graph, iteration, inputs, outputs, text, has_failed, constants)
        except Error as refused:
            if refused.code != "unsupported":
                raise
            inputs, outputs = self._readable(name, "input", inputs), self._readable(name, "output", outputs)
            _native.collect(handle, operator, rank, device, graph, iteration, inputs, outputs, text, has_failed, constants)

    def save(self, name: str, value: Any, *, rank: int = 0, iteration: int = 0, save_backward: bool = True) -> None:
        """A tensor that no operator has, or a list or dict of such, for msprobe's config of level "debug", as
        PrecisionDebugger.save() takes it: it stands in debug.json as {name}.{n}.debug, where n counts the values of this name
        in the step. Numbers and texts in it are written, too. With any other config nothing is done.

        save_backward  also saves the gradients of PyTorch's tensors, when backward computes them: as {name}_grad.{n}.debug,
                       in the same lists and dicts, with null for what gets none
        """
        tensors: list[Any] = []
        tree = _laid_out(value, tensors, 0)
        if not tensors:
            return
        step, key = (rank, iteration), (rank, name)
        if self._saved.get(key, (None, 0))[0] != step:
            self._saved[key] = (step, 0)
        count = self._saved[key][1]
        self._saved[key] = (step, count + 1)
        self._save(f"{name}.{count}.debug", tree, dict(enumerate(tensors)), rank, iteration)
        if not save_backward or not self.wants("debug", name, rank=rank, device=rank, iteration=iteration):
            return
        if self._waiting.get(rank, (iteration, []))[0] != iteration:
            self._end_waiting(rank)
        for slot, tensor in enumerate(tensors):
            if getattr(tensor, "requires_grad", False) and hasattr(tensor, "register_hook"):
                hook = _Gradient(self, f"{name}_grad.{count}.debug", _without_arguments(tree), slot, rank, iteration)
                handle = tensor.register_hook(hook)
                if getattr(tensor, "is_leaf", True):  # a parameter outlives its step, and would keep its hooks
                    self._waiting.setdefault(rank, (iteration, []))[1].append(handle)

    def _end_waiting(self, rank: int) -> None:
        """A step of the rank is over: the gradients of its leaves are waited for no longer."""
        for handle in self._waiting.pop(rank, (0, []))[1]:
            handle.remove()

    def _save(self, key: str, tree: Any, tensors: dict[int, Any], rank: int, iteration: int) -> None:
        outputs = [tensors.get(slot) for slot in range(max(tensors) + 1)]
        layout = "" if isinstance(tree, str) else json.dumps({"debug": tree}, indent=1)
        self.collect("debug", key, outputs=outputs, rank=rank, device=rank, iteration=iteration, layout=layout)

    def name_graph(self, graph: int, model: str) -> None:
        """Gives the name of a graph's model, before the graph's first run. The item of acl.json's dump_list with this
        model_name applies to the graph, and the graph's files are in the model's folder."""
        _native.name_graph(self._handle(), graph, model)

    def save_kernel_args(self, op_type: str, name: str, args: Mapping[str, str], *, rank: int = 0, device: int = 0, graph: int = 0,
                         iteration: int = 0) -> None:
        """The arguments of an operator, by their names, for a config with save_kernel_args."""
        self._awaits_kernel_args = False
        _native.save_kernel_args(self._handle(), self._operator(op_type, name), rank, device, graph, iteration, list(args),
                                 [str(value) for value in args.values()])

    def save_execution_order(self, names: Sequence[str], *, rank: int = 0, graph: int = 0) -> None:
        """The operators of a compiled graph, by full scope name, in the order of their execution."""
        _native.save_execution_order(self._handle(), rank, graph, names)

    def step_end(self, *, rank: int = 0, device: int = 0, graph: int = 0, iteration: int = 0) -> bool:
        """The iteration of this rank and graph is over. With `enable`, returns when all of it is on disk, and whether it
        is; else True."""
        is_whole: bool = _native.step_end(self._handle(), None, rank, device, graph, iteration)
        self._end_waiting(rank)
        self._tell_alerts()
        return is_whole

    def settle(self) -> None:
        """With settles_later: waits until the steps that have ended are measured, and tells their alerts."""
        _native.settle(self._handle(), False)
        self._tell_alerts()

    def _tell_alerts(self) -> None:
        for alert in taken():
            if self._on_alert is None:
                logger.warning("%s", alert)
                continue
            try:
                self._on_alert(alert)
            except Exception as fault:
                logger.warning("on_alert raised: %s: %s", type(fault).__name__, fault, exc_info=fault)

    def flush(self) -> bool:
        """Returns when all that was handed over is in its file, waits for the disk, or is lost and counted: whether all of
        it is in its file."""
        return _native.session_flush(self._handle())

    def start(self) -> None:
        """Dumps from now on. With a data_dump.json at whatever iteration: the config's do not count from the first start()
        or stop() on. msprobe's `step` and the `dump_step` of an acl.json go on to count."""
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
        """{"tensor_count": 12, "row_count": 12, "lost_row_count": 0, ...}; of a closed session, its last.

        Where the tensors of the rows were measured: device_row_count (by an OpenCL device, or by the GPU that has the tensor),
        host_row_count, and fallback_row_count. The last counts rows in host_row_count with a tensor in device memory that could not be
        measured there, or with a failed device. device_bytes and most_device_bytes: device memory that the session holds now, and at
        most."""
        if not self._handles:
            return dict(self._last_counters)
        counters: dict[str, int] = _native.session_counters(self._handles[0])
        counters["lost_tensor_count"] += self._left_out_count
        return counters

    def close(self) -> None:
        """Flushes, and ends the session. A second call does nothing."""
        for rank in list(self._waiting):
            self._end_waiting(rank)
        if self._handles:
            _native.session_end(self._handle())  # which may be the end of rows that waited for the disk
            self._tell_alerts()
            self._last_counters = self.counters
            if self._operators and self._awaits_flags:
                logger.warning("the config's dump_mode is 2, and no operator was flagged: collect(..., set_dump=True) does")
            if self._operators and self._awaits_kernel_args:
                logger.warning("the config wants save_kernel_args, and save_kernel_args() was never called")
        self._close()

    def __enter__(self) -> "DumpSession":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _handle(self) -> Any:
        if not self._handles:
            raise Error("the session was closed")
        return self._handles[0]

    def _operator(self, op_type: str, name: str, set_dump: bool = False, stream_id: int | None = None,
                  task_id: int | None = None) -> Any:
        key = op_type, name, set_dump, stream_id, task_id
        if key not in self._operators:
            ids = (_NO_ID if each is None else each for each in (stream_id, task_id))
            self._operators[key] = _native.operator_named(self._handle(), op_type, name, set_dump, *ids)
            self._awaits_flags = self._awaits_flags and not set_dump
        return self._operators[key]

    def _has_failed(self, failed: bool | None) -> bool:
        if failed is None and self._awaits_failures:
            self._awaits_failures = False  # said once
            logger.warning("the config's op_debug_mode is 4, which dumps operators that failed: say failed=True or False to "
                           "collect() and wants()")
        return bool(failed)

    def _readable(self, name: str, io: str, tensors: Sequence[Any]) -> list[Any]:
        """With None in the place of what cannot be measured."""
        readable = list(tensors)
        for slot, tensor in enumerate(readable):
            why = None if tensor is None else _native.why_not(tensor)
            if why is None:
                continue
            readable[slot] = None
            self._left_out_count += 1
            if name not in self._left_out:
                self._left_out.add(name)
                logger.warning("%s: %s %d is left out: %s", name, io, slot, why)
        return readable


def _dumps_flagged_operators(config: str | os.PathLike[str] | None) -> bool:
    """Whether it is one of MindSpore's with dump_mode 2. What cannot be read, the library has said."""
    text = os.environ.get("MINDSPORE_DUMP_CONFIG", "{}") if config is None else str(config)
    try:
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        return bool(json.loads(text)["common_dump_settings"]["dump_mode"] == 2)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
