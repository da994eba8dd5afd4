"""Rows of a model's buffers: their values before a step, and after a forward has written them."""
import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from ._rerun import version_of
from ._tensors import has_same_elements, is_freed, is_lazy, local_of

_MOST_COPIED = 1 << 16  # elements of a buffer


class Buffers:
    """The buffers of a watch's modules. Those of floats that a forward wrote get a row at the end of the step."""

    def __init__(self, watch: Any, has_rows: bool) -> None:
        self._watch, self._has_rows = watch, has_rows
        self._holders: list[tuple[str, weakref.ref[Any], bool]] = []  # modules with buffers; whether one is outermost
        self._known: dict[str, tuple[int, int, int]] = {}  # what the buffers were when they were last looked at
        self._copies: dict[str, Any] = {}  # of small ones before a step, because a write by `.data` leaves the version as it is
        self._proved: set[str] = set()  # versions have told a write of these

    def take(self, modules: Iterable[tuple[str, Any, bool]]) -> None:
        self._holders = [(name, weakref.ref(module), is_outermost) for name, module, is_outermost in modules if module._buffers]

    def clear(self) -> None:
        self._holders, self._known = [], {}
        self._copies.clear()

    def look_before(self, has_several: bool) -> None:
        """Before the first forward of a step: one that was written since the last step, and holds NaN, has a row."""
        self._copies.clear()
        for name, buffer, state, _ in self._each(has_several):
            # torch compares no float8
            is_small = buffer.is_cpu and buffer.numel() <= _MOST_COPIED and buffer.element_size() > 1
            if self._has_rows and is_small and name not in self._proved:
                self._copies[name] = _copy_of(buffer)
            if self._known.get(name) == state:
                continue
            self._known[name] = state
            if buffer.is_cpu and _has_nan(buffer):
                if faults := self._watch._collect("Parameter", name, (buffer,)):
                    self._watch.judge(faults, self._watch.note, "parameter", "Parameter", name, "input")

    def look_after(self, has_several: bool) -> None:
        """At the end of a step."""
        if not self._has_rows:
            return
        for name, buffer, state, module in self._each(has_several):
            before = self._copies.pop(name, None)
            if self._known.get(name) != state:
                self._proved.add(name)
            elif before is None or before.shape == buffer.shape and has_same_elements(buffer, before):
                continue
            self._known[name] = state
            faults = self._watch._collect("ModuleBuffer", name, (), (buffer,))
            if faults:
                self._watch.judge(faults, self._watch._note_buffer, module, name)

    def _each(self, has_several: bool) -> Iterator[tuple[str, Any, tuple[int, int, int], str]]:
        """Yields (name, local buffer, state, name of the module) for each buffer that can be read. torch's batch norm writes its running
        statistics and leaves their versions as they are, but it counts its batches in a buffer of integers: the state has the version
        of that buffer, too."""
        torch = sys.modules["torch"]
        for module_name, reference, is_outermost in self._holders:
            module = reference()
            if module is None:
                continue
            counts = sum(version_of(each) for each in module._buffers.values() if each is not None and not each.dtype.is_floating_point)
            for key, buffer in module._buffers.items():
                name = key if is_outermost and not has_several else f"{module_name}.{key}"
                if buffer is None or is_lazy(buffer) or not buffer.dtype.is_floating_point or not self._watch._wanted(name):
                    continue
                local = local_of(buffer)
                is_plain = type(local) is torch.Tensor and local.layout is torch.strided and local.device.type != "meta"
                if is_plain and local.numel() and not is_freed(local):
                    yield name, local, (local.data_ptr(), version_of(local), counts), module_name


def _has_nan(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return bool(tensor.isnan().any())


def _copy_of(tensor: Any) -> Any:
    torch = sys.modules["torch"]
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return tensor.detach().clone()
