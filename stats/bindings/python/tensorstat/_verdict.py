"""The watch's own knowledge of where NaN and Inf began, without reading its rows again."""
import dataclasses
from typing import Any

from ._calls import Call, module_of

NAN, INF = 1, 2
_MOST_FAULTS = 1000


@dataclasses.dataclass
class _Ended:
    """A fault of the forward that a call ended."""
    fault: "Fault"
    kinds: int
    is_written: bool  # a mask wrote the Inf
    modules: set[str]  # that held it
    by: str

    def was_in(self, module: str) -> bool:
        return module in self.modules or self.fault.op_name.startswith((f"{module}/", f"{module}."))

    def comes_back_in(self, row: "Fault") -> bool:
        """Whether backward brought it back: this row is of a module that held it, or of the code of the module that ended it. See R7c."""
        name = module_of(row.op_name)
        if row.op_type == "Gradient":
            name = name.rpartition(".")[0]
        if not self.kinds & NAN and (self.is_written or name == module_of(self.fault.op_name)):
            return False
        return name in self.modules or row.io == "input" and name.startswith(f"{self.by}.")


@dataclasses.dataclass
class Fault:
    """Where NaN or Inf began, as far as a watch knows. `tensorstat origin` looks at all rows."""
    kind: str  # "NaN" or "Inf"
    phase: str  # "parameter", "input", "forward", "loss", "backward", "gradient", "optimizer"
    op_type: str
    op_name: str
    iteration: int
    rank: int = 0
    io: str = "output"
    slot: int = 0
    file: str | None = None
    line: int | None = None
    operation: str | None = None
    is_evaluation: bool = False  # which ran before this iteration
    not_read: str = ""  # a module with unreadable results: it may be to blame, too
    is_of_ranks: bool = False  # of a gradient behind backward: it may have been received from another rank
    held_by: str = ""  # a module whose argument, a container, holds it: another call inside may have written it there
    buffer: str = ""  # that the forward wrote the NaN into
    cut_off: str = ""  # the operation, such as a clamp, that put a finite number in the place of an Inf

    def __str__(self) -> str:
        name = module_of(self.op_name)
        of_ranks = "received from another rank or " if self.is_of_ranks else ""
        where = {"input": f"came in with the data, {name} input {self.slot}", "forward": name, "loss": f"the loss ({name})",
                 "backward": f"gradient of {name}" if self.op_type == "Gradient" else f"backward of {name}", "parameter": f"parameter {name}",
                 "gradient": f"gradient of {name}, {of_ranks}changed after backward", "optimizer": f"{name} after the optimizer"}[self.phase]
        if self.not_read and self.phase == "loss":
            where += f", or {self.not_read}, whose results could not be read"
        if self.held_by and not self.operation:
            where += f", or a call inside: it lay in a container that {self.held_by} was given"
        if self.operation:
            where += f", {self.operation}"
        if self.file:
            where += f" ({self.file.rpartition('/')[2]}:{self.line})"
        if self.buffer:
            where += f", which wrote it into its buffer {self.buffer}"
        if self.cut_off:
            where += f", cut off by {self.cut_off}"
        rank = f"rank {self.rank}, " if self.rank else ""
        when = f"evaluation before iteration {self.iteration}" if self.is_evaluation else f"iteration {self.iteration}"
        return f"first {self.kind}: {rank}{when}, {where}"


def kind_of(kinds: int) -> str:
    return "NaN" if kinds & NAN else "Inf"


class Course:
    """The faults of one iteration after another, until one is the first. See stats/doc/origin.md for what rows mean."""

    def __init__(self, rank: int, is_evaluation: bool = False) -> None:
        self._rank, self._is_evaluation = rank, is_evaluation
        self.first: Fault | None = None
        self._writers: set[str] = set()  # operators that wrote Inf, as masks do: they are run again once
        self._harmless: set[tuple[str, str, int]] = set()  # (operator, io, slot) of faults that did no harm in a checked step
        self._harmless_makers: set[str] = set()  # operators that made a NaN that ended, in a step without a fault
        self.cut_off: Fault | None = None  # the first overflow that went no further; the fault if there is no other
        self._begin()

    def _begin(self) -> None:
        self.pending: Fault | None = None  # of the forward, that no call has ended
        self.pending_kinds = 0
        self._ended: tuple[Fault | None, int] = None, 0
        self._ended_ones: list[_Ended] = []
        self._came_back: Fault | None = None  # the one that backward brought back
        self._has_gone_on = False  # a loss or a gradient came to be faulty while a fault of the forward was pending
        self._parameter: Fault | None = None
        self._forward: list[Fault] = []  # all of the forward, the first ones
        self._later: dict[str, Fault] = {}  # by phase, the first of each
        self._has_clean_loss = self._has_clean_gradients = False
        self.is_told_by_check = False  # if no parameter is written, the training skips the step for the fault: no scaler does
        self.is_written = False  # a mask wrote the Inf that is pending
        self.row = ""  # where the fault that is pending was seen first
        self.around: list[Call] = []  # the calls that ran then
        self.not_read = ""  # a module with unreadable results

    def fault(self, phase: str, kinds: int, op_type: str, op_name: str, iteration: int, io: str, slot: int) -> Fault:
        return Fault(kind_of(kinds), phase, op_type, op_name, iteration, self._rank, io, slot, is_evaluation=self._is_evaluation,
                     not_read=self.not_read)

    def note(self, fault: Fault, kinds: int, around: list[Call]) -> bool:
        """Whether this is a new fault of the forward. A zoom may find out more about it."""
        if fault.phase in ("forward", "input") and len(self._forward) < _MOST_FAULTS:
            self._forward.append(fault)
        if self.first is not None:
            return False
        if fault.phase in ("forward", "input"):
            if self.pending is None:
                self.pending, self.pending_kinds = fault, kinds
                self.is_written = kinds == INF and fault.op_name in self._writers
                self.row, self.around = fault.op_name, list(around)
                return True
            if kinds & NAN and not self.pending_kinds & NAN:  # an Inf that became NaN
                self.pending_kinds |= kinds
                return True
        elif fault.phase == "parameter":
            self._parameter = self._parameter or fault
        else:
            self._has_gone_on |= self.pending is not None
            if fault.phase == "backward" and kinds & NAN and not self.has_fault_of_backward:
                self._came_back = next((each.fault for each in reversed(self._ended_ones) if each.comes_back_in(fault)
                                        and each.fault.op_name not in self._harmless_makers), None)
            self._later.setdefault(fault.phase, fault)
        return False

    def note_buffer(self, fault: Fault) -> None:
        """At the end of a step. A NaN that had ended in the module is what it wrote."""
        if self.first is None:
            ended = next((each.fault for each in reversed(self._ended_ones) if each.kinds & NAN and each.was_in(module_of(fault.op_name))), None)
            self._later.setdefault("buffer", dataclasses.replace(ended, buffer=fault.buffer) if ended is not None else fault)

    def set_aside(self) -> tuple[Any, ...]:
        """Before a call that may have looked past the fault that is pending is judged."""
        aside = self.pending, self.pending_kinds, self.is_written, self.row, self.around
        self.pending, self.pending_kinds = None, 0
        return aside

    def take_back(self, aside: tuple[Any, ...]) -> None:
        """The call has made no fault of its own, as far as is known."""
        if aside[0] is not None:
            self.pending, self.pending_kinds, self.is_written, self.row, self.around = aside

    def writes_inf(self, op_name: str) -> None:
        """A mask of this operator wrote the Inf that is pending."""
        self._writers.add(op_name)
        self.is_written = True

    def cut(self, fault: Fault, operation: str, file: str | None, line: int | None) -> None:
        where = f" ({file.rpartition('/')[2]}:{line})" if file else ""
        self.cut_off = dataclasses.replace(fault, cut_off=f"{operation}{where}")

    def end(self, by: str) -> None:
        """This call has taken the fault of the forward in, and gave none; or the model ran anew, and gave none."""
        if self._has_gone_on:
            return
        if self.pending is not None:
            modules = {module_of(each.op_name) for each in self._forward} | {module_of(self.row), module_of(by)}
            self._ended_ones.append(_Ended(self.pending, self.pending_kinds, self.is_written, modules, module_of(by)))
        self._ended = self.pending, self.pending_kinds
        self.pending, self.pending_kinds = None, 0

    def pass_on(self) -> None:
        """A call was given a fault and gives it on: had it ended elsewhere, it has not here."""
        if self.pending is None:
            self.pending, self.pending_kinds = self._ended

    def is_clean(self, phase: str) -> None:
        self._has_clean_loss |= phase == "loss"
        self._has_clean_gradients |= phase == "gradient"

    def later(self, phase: str) -> Fault | None:
        return self._later.get(phase)

    @property
    def is_parameter_clean(self) -> bool:
        return self._parameter is None

    @property
    def has_fault_of_backward(self) -> bool:
        return "backward" in self._later

    @property
    def is_forward_clean(self) -> bool:
        return self.pending is None and self._parameter is None and "loss" not in self._later

    def now(self, is_skipped: bool = False) -> Fault | None:
        """The first fault, or the fault if the iteration ended here."""
        if self.first is not None:
            return self.first
        later = self._later
        if is_skipped and not self.is_told_by_check and "loss" not in later and self.pending is None:
            later = {phase: each for phase, each in later.items() if phase not in ("backward", "gradient")}
        pending = self.pending
        is_mere_inf = not self.pending_kinds & NAN
        is_ended = self._has_clean_loss or (is_mere_inf and (self._has_clean_gradients or self.is_written))
        is_spent = is_mere_inf and self.is_written and ("loss" in later or "backward" in later)  # the loss made NaN or Inf of it
        if pending is not None and (is_spent or not later and is_ended):
            pending = None  # it was meant
        of_step = (later.get(phase) for phase in ("backward", "buffer", "gradient", "optimizer"))
        for each in (self._parameter, pending, later.get("loss"), self._came_back, *of_step):
            if each is not None:
                return each
        return None

    def of_iteration(self) -> Fault | None:
        """Where the fault of this iteration began. After the first fault it is the first call with faulty results, except calls that are
        faulty in clean steps, too, as behind a mask."""
        if self.first is None:
            return self.now()
        return next((each for each in self._forward if (each.op_name, each.io, each.slot) not in self._harmless), None)

    def is_harmless(self) -> None:
        """The loss and the gradients of this iteration are clean."""
        self._harmless.update((each.op_name, each.io, each.slot) for each in self._forward)
        self._forward.clear()

    def end_iteration(self, is_skipped: bool) -> None:
        self.first = self.now(is_skipped)
        self._harmless_makers.update(each.fault.op_name for each in self._ended_ones if each.kinds & NAN)
        self._begin()
