"""Faults that are known only after the end of a step, because a GPU measures tensors while the training continues."""
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import _native


class Faults(NamedTuple):
    """The faults of a call's inputs or outputs."""
    kinds: int  # NAN and INF of all tensors together; not 0
    first: int  # the number of the first faulty tensor


Numbers = list[int]  # of the tensors of one call, while their faults are unknown: see faults_of
PutOff = tuple[int, bool, Faults | Numbers | None, Callable[..., Any], tuple[Any, ...]]  # iteration, is_evaluation, faults, call, arguments


def joined(each: Sequence[Faults | Numbers | None]) -> Faults | Numbers | None:
    """The faults of several tensors, from those of each alone."""
    numbers: Numbers = []
    for faults in each:
        numbers += faults if isinstance(faults, list) else [-faults.kinds if faults else 0]
    return numbers if any(number > 0 for number in numbers) else faults_of(numbers, {})


def faults_of(numbers: Numbers, known: dict[int, int]) -> Faults | None:
    """A number above 0 stands for a tensor in `known`; another one is -(kinds of fault). A tensor missing in `known` is lost. Takes the
    tensors out of `known`."""
    first = all_kinds = 0
    for position in range(len(numbers) - 1, -1, -1):
        number = numbers[position]
        kinds = known.pop(number, 0) if number > 0 else -number
        all_kinds |= kinds
        if kinds:
            first = position
    return Faults(all_kinds, first) if all_kinds else None


class Later:
    """Calls that wait for faults, in the order in which a watch that waits would make them."""

    def __init__(self) -> None:
        self._calls: list[PutOff] = []
        self._ended: list[PutOff] = []
        self.captured: list[PutOff] | None = None  # while a CUDA graph is captured: its calls, which each replay repeats
        self._known: dict[int, int] = {}

    def put_off(self, iteration: int, is_evaluation: bool, faults: Faults | Numbers | None, call: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        (self._calls if self.captured is None else self.captured).append((iteration, is_evaluation, faults, call, arguments))

    def repeat(self, calls: Sequence[PutOff], iteration: int, added: int) -> None:
        """The same calls in this iteration, with tensors whose numbers are greater by `added`."""
        for _, is_evaluation, faults, call, arguments in calls:
            if isinstance(faults, list):
                faults = [number + added if number > 0 else number for number in faults]
            self.put_off(iteration, is_evaluation, faults, call, arguments)

    def end_step(self) -> None:
        self._ended += self._calls
        self._calls = []

    def settle(self, session: Any, with_this_step: bool, make: Callable[..., None]) -> None:
        """Waits for the ended steps, and calls make(iteration, is_evaluation, faults, call, arguments) for each of their calls.
        `with_this_step`: also waits for the current step."""
        self._known.update(_native.settle(session, with_this_step))
        if with_this_step:
            self.end_step()
        ended, self._ended = self._ended, []
        for iteration, is_evaluation, faults, call, arguments in ended:
            make(iteration, is_evaluation, faults_of(faults, self._known) if isinstance(faults, list) else faults, call, arguments)
