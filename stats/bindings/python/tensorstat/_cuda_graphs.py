"""CUDA graphs that are captured while a model is watched: each replay has the rows of the capture."""
import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from . import _native
from ._calls import Call
from ._hooks import say_fault
from ._later import PutOff

_WATCHING: "weakref.WeakSet[CudaGraphs]" = weakref.WeakSet()
_KEPT: dict[int, Any] = {}  # what replays write to, by the id of torch's graph


class _Capture:
    """What a watch collected while a graph was captured."""

    def __init__(self, graph: Any, before: int, states: dict[str, Any]) -> None:
        self.graph, self.before, self.states = graph, before, states
        self.last = before
        self.device = 0  # the GPU of torch's graph, which torch replays on this GPU's current stream
        self.calls: list[PutOff] = []
        self.written: list[str] = []  # the parameters that the graph writes
        self.gradients: set[str] = set()  # those of parameters that have rows in it

    def renew(self, _faults: None) -> None:
        """For Later: what the calls remember is of another replay."""
        for *_, arguments in self.calls:
            for each in arguments:
                if isinstance(each, Call):
                    each.took = 0


class CudaGraphs:
    """The graphs of one watch."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self._captures: "weakref.WeakKeyDictionary[Any, _Capture]" = weakref.WeakKeyDictionary()
        self._open: _Capture | None = None
        _WATCHING.add(self)
        _wrap()

    def close(self) -> None:
        self._captures.clear()
        _WATCHING.discard(self)
        if not _WATCHING:
            _unwrap()

    def before_capture(self, _: Any) -> None:
        watch = self._watch
        if not watch.active:
            watch._say_once("a CUDA graph that is captured in a step that is not measured has no rows")
            return
        if not watch._is_begun:
            watch._begin()
        else:
            watch._gradients.changes_stream()
        graph, before = _native.begin_capture(watch._session._handle())
        if graph is None:
            return
        if watch._later is None:
            watch._is_late()
        later: Any = watch._later
        later.captured = []
        self._open = _Capture(graph, before, watch._parameters.states())

    def after_capture(self, graph: Any) -> None:
        watch, made = self._watch, self._open
        if made is None:
            return
        self._open = None
        made.last = _native.end_capture(watch._session._handle())
        made.device = sys.modules["torch"].cuda.current_device()
        made.calls, watch._later.captured = watch._later.captured, None
        made.written = [name for name, state in watch._parameters.states().items() if made.states.get(name) != state]
        made.gradients = {arguments[1] for *_, arguments in made.calls if arguments and arguments[0] == "Gradient"}
        self._captures[graph] = made
        if id(graph) not in _KEPT:
            weakref.finalize(graph, _KEPT.pop, id(graph)).atexit = False
        _KEPT[id(graph)] = made.graph, _KEPT.get(id(graph))

    def give_up(self, _: Any) -> None:
        """Torch's call has failed."""
        if self._open is not None:
            self._open = self._watch._later.captured = None
            _native.end_capture(self._watch._session._handle())

    def before_replay(self, graph: Any) -> None:
        watch = self._watch
        if graph in self._captures and watch.active and not watch._is_begun:
            watch._begin()

    def after_replay(self, graph: Any) -> None:
        watch, capture = self._watch, self._captures.get(graph)
        if capture is None:
            return
        if not watch.active:
            watch._parameters.are_replayed(capture.written, set())
            return
        watch._has_evaluated |= any(is_evaluation for _, is_evaluation, *_ in capture.calls)
        watch._parameters.are_replayed(capture.written, capture.gradients)
        stream = sys.modules["torch"].cuda.current_stream(capture.device).cuda_stream
        added = _native.replayed(watch._session._handle(), capture.graph, watch.iteration, stream, capture.before, capture.last)
        if added is not None:
            watch._later.put_off(watch.iteration, False, None, capture.renew, ())
            watch._later.repeat(capture.calls, watch.iteration, added)


def _wrap() -> None:
    kind = getattr(sys.modules["torch"].cuda, "CUDAGraph", None)
    if kind is None or hasattr(kind.replay, "of_tensorstat"):
        return
    for name, before, after in (("capture_begin", CudaGraphs.before_capture, None), ("capture_end", None, CudaGraphs.after_capture),
                                ("replay", CudaGraphs.before_replay, CudaGraphs.after_replay)):
        setattr(kind, name, _around(getattr(kind, name), before, after))


def _unwrap() -> None:
    kind = getattr(sys.modules["torch"].cuda, "CUDAGraph", None)
    for name in ("capture_begin", "capture_end", "replay"):
        now: Any = getattr(kind, name, None)
        if hasattr(now, "of_tensorstat"):  # not where somebody has wrapped ours
            setattr(kind, name, now.of_tensorstat)


def _around(method: Any, before: Callable[..., None] | None, after: Callable[..., None] | None) -> Any:
    @functools.wraps(method)
    def wrapped(graph: Any, *arguments: Any, **keywords: Any) -> Any:
        _tell(before, graph)
        try:
            result = method(graph, *arguments, **keywords)
        except BaseException:
            _tell(CudaGraphs.give_up, graph)
            raise
        _tell(after, graph)
        return result

    wrapped.of_tensorstat = method  # type: ignore[attr-defined]
    return wrapped


def _tell(what: Callable[..., None] | None, graph: Any) -> None:
    if what is None:
        return
    for each in list(_WATCHING):
        try:
            what(each, graph)
        except Exception as fault:
            say_fault(fault)
