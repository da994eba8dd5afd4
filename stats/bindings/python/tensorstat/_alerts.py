"""Alerts: rules that are asked of each row, and what happens when one is met. stats/doc/alerts.md shows them."""
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

from . import _native
from ._library import Error, logger
from ._ranks import max_of_ranks

__all__ = ["Alert", "Step", "Stopped"]

_ACTIONS = ("write", "save tensors", "warn", "stop")
_MOST_EVENTS = 16


@dataclasses.dataclass
class Alert:
    """A rule that began to be met. It is told again for the same tensor only after a step in which the tensor did not meet it."""
    step: int
    rank: int
    condition: str
    op_type: str
    op_name: str
    io: str
    slot: int
    dtype: str
    shape: tuple[int, ...]
    statistic: str | None  # by which it was met; None where only texts decided
    value: float | int | None
    limit: float | None  # what the rule compared it with
    tensors: int  # how many began to meet the rule in this step; this is the first
    history: list[tuple[int, float | int | None]]  # (step, value) of the steps that are kept, this one last
    event: str | None  # the folder with their rows
    file: str | None  # the line that called the module
    line: int | None
    words: str | None = None  # of "differs over GROUP": "of 3 replicas rank 1 differs in a bit"
    saved: list[str] = dataclasses.field(default_factory=list)  # with "save tensors": the .npy files in `event`
    not_saved: list[str] = dataclasses.field(default_factory=list)  # and what could not be saved, with the reason

    def __str__(self) -> str:
        rank = f", rank {self.rank}" if self.rank else ""
        value = f": {self.statistic} is {self.value}" if self.statistic else ""
        words = f": {self.words}" if self.words else ""
        more = f"; and {self.tensors - 1} more tensor{'s' * (self.tensors > 2)}" if self.tensors > 1 else ""
        where = f" ({self.file.rpartition('/')[2]}:{self.line})" if self.file else ""
        event = f"; {self.event}" if self.event else ""
        saved = f", with {len(self.saved)} saved tensor{'s' * (len(self.saved) > 1)}" if self.saved else ""
        missing = "".join(f"; {each}" for each in self.not_saved)
        return (f"step {self.step}{rank}: {self.op_name} {self.io} {self.slot}{where}{value}{words}, condition {self.condition}"
                f"{more}{event}{saved}{missing}")


@dataclasses.dataclass
class Step:
    """The result of step(). `fired`: whether a rule was met, on this rank or, with "stop", on any."""
    step: int
    alerts: list[Alert]
    rank: int | None = None  # the lowest rank with an alert

    @property
    def fired(self) -> bool:
        return self.rank is not None

    def __bool__(self) -> bool:
        return self.fired


class Stopped(RuntimeError):
    """step() raises it if `then` has "stop" and a rule was met: with several ranks on all of them, in the same step."""

    def __init__(self, found: Step) -> None:
        message = "; ".join(map(str, found.alerts)) or f"step {found.step}: rank {found.rank} has an alert"
        super().__init__(message)
        self.found = found

    def __reduce__(self) -> tuple[Any, ...]:
        return Stopped, (self.found,)


@dataclasses.dataclass
class AlertSettings:
    """The alert settings of a session or watch."""
    alerts: str | Sequence[str] = ()
    keep: int | tuple[int, int] = 0
    event_bytes: int = 1 << 30
    only_bad: bool = False
    is_written: bool = True
    saves_tensors: bool = False

    def set(self, session: Any) -> list[str]:
        """Returns the groups of ranks that the rules name."""
        rules = [self.alerts] if isinstance(self.alerts, str) else list(self.alerts)
        before, after = self.keep if isinstance(self.keep, tuple) else (self.keep, 0)
        if self.only_bad:
            rules += ["nan", "inf"]
            before = before or 1
        text = ", ".join(filter(None, rules))
        # Without rules and keep this sets nothing, but it refuses wrong numbers.
        _native.set_alerts(session, text, before, after, 256 << 20, _MOST_EVENTS if self.is_written else 0,
                           self.saves_tensors, self.event_bytes)
        groups: list[str] = _native.alert_groups(session).splitlines()
        return groups


def taken() -> list[Alert]:
    """The alerts of the step that this thread has ended."""
    return [_alert_of(json.loads(line)) for line in _native.take_alerts()]


def _alert_of(members: dict[str, Any]) -> Alert:
    steps, values = members.pop("steps"), members.pop("values")
    members["shape"] = tuple(members["shape"])
    for key in ("value", "limit"):
        members[key] = _number(members[key])
    return Alert(**members, history=list(zip(steps, map(_number, values))))


def _number(value: Any) -> Any:
    """JSON has no NaN and no Inf: they are texts."""
    return float(value) if value in ("nan", "inf", "-inf") else value


class Actions:
    """The actions of a watch at the end of each step."""

    def __init__(self, then: str | Callable[..., Any] | Sequence[Any], agree: Callable[[int], int] | None, rank: int,
                 world_size: int) -> None:
        self._actions = [then] if isinstance(then, str) or callable(then) else list(then)
        for each in self._actions:
            if not callable(each) and each not in _ACTIONS:
                raise Error(f"then has {each!r}; it can have {', '.join(_ACTIONS)}, and functions of an Alert")
        self._agree, self._rank, self._world_size = agree, rank, world_size

    @property
    def is_written(self) -> bool:
        return "write" in self._actions or self.saves_tensors

    @property
    def saves_tensors(self) -> bool:
        return "save tensors" in self._actions

    @property
    def agrees(self) -> bool:
        """Whether ranks have to agree after each step."""
        return "stop" in self._actions and (self._agree is not None or self._world_size > 1)

    def tell(self, alerts: list[Alert], is_last: bool = False) -> None:
        """Logs alerts, and calls functions with them. `is_last`: no step() comes that could raise Stopped or return them."""
        for alert in alerts:
            if self._is_logged or is_last:
                logger.warning("%s", alert)
            for action in self._actions:
                if callable(action):
                    try:
                        action(alert)
                    except Exception as fault:  # training goes on
                        logger.warning("the function of then raised for an alert, and training goes on: %s: %s",
                                       type(fault).__name__, fault, exc_info=fault)

    def after(self, step: int, alerts: list[Alert]) -> Step:
        self.tell(alerts)
        first = self._rank if alerts else None
        if self.agrees:
            first = self.first_of_all(bool(alerts))
        return Step(step, alerts, first)

    @property
    def _is_logged(self) -> bool:
        """With "warn", and where an alert would be written and not heard of."""
        is_heard = "stop" in self._actions or any(map(callable, self._actions))
        return "warn" in self._actions or (self.is_written and not is_heard)

    def check(self, step: Step) -> None:
        if step.fired and "stop" in self._actions:
            raise Stopped(step)

    def first_of_all(self, weight: int) -> int | None:
        """The lowest of the ranks with the greatest weight; None if that is 0. All ranks call this, whether or not they have
        something to say: one MAX of an int64."""
        most = 1 << 32
        mine = most - self._rank + (weight - 1) * 2 * most if weight else 0
        agreed = int((self._agree or max_of_ranks)(mine)) if self._agree is not None or self._world_size > 1 else mine
        return most - agreed % (2 * most) if agreed else None
