"""Whether a run went wrong, where first, and what to look at next: `tensorstat report` as functions."""
import dataclasses
import html
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from . import _native
from ._compare import said

__all__ = ["Finding", "Findings", "Report", "findings", "report"]

_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@dataclasses.dataclass(frozen=True)
class Finding:
    """A broken rule. `str()` is its sentence."""
    rule: str  # "nan", "inf", "turned", "overflow", "jump", "drift", "dead", "frozen", "gone", "unwritten", "ranks", "stopped", "replica",
    # "stuck", "unreached", "shrunk", "mode"
    severity: str  # "error", "warning" or "notice"
    op_type: str | None  # of the operator or parameter; None of a rank
    op_name: str | None
    io: str | None  # "input" or "output"
    slot: int
    rank: int
    first_iteration: int
    last_clean_iteration: int | None  # of the tensor, among the iterations in the rows
    value: float | None  # what broke the rule: a size, a value, or a number of iterations
    limit: float | None  # the limit of the rule
    others: int  # tensors of the same rule that broke it then or soon after; they are not listed
    text: str
    next: str  # what to look at next
    definition: str  # the rule in words

    def __str__(self) -> str:
        return f"{self.severity} {self.rule}, iteration {self.first_iteration}, rank {self.rank}: {self.text}"


class Findings(Sequence[Finding]):
    """The findings of a run: the verdict's first, the others by iteration. Empty, and false, if nothing was found.

    verdict       the sentence that says it all
    sentences     the verdict, and its explanation
    notes         events that are not faults: NaN and Inf that ended, steps that a gradient scaler skipped
    measured      {"rows", "tensors", "ranks": [...], "first_iteration", "last_iteration"} of the rows read
    not_measured  the rules that were not judged, and why
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.verdict: str = found["verdict"]
        self.sentences: list[str] = found["sentences"]
        self.notes: list[str] = found["notes"]
        self.measured: dict[str, Any] = found["measured"]
        self.not_measured: list[str] = found["not_measured"]
        self._list = [Finding(**{**each, "value": _number(each["value"]), "limit": _number(each["limit"])})
                      for each in found["findings"]]

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._list[index]

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._list)

    def __str__(self) -> str:
        lines = [*self.sentences[:1], *("  " + each for each in self.sentences[1:]), *map(str, self._list)]
        return "\n".join([*lines, *("note: " + note for note in self.notes),
                          *("not judged: " + each for each in self.not_measured)])

    __repr__ = __str__


class Report:
    """The page of a run, and its findings. A notebook shows the page."""

    def __init__(self, findings: Findings, page: str) -> None:
        self.findings = findings
        self.html = page  # one document, which needs no network

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, which a browser opens without a server."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        # The page has styles and scripts of its own. A frame keeps them apart from the notebook's.
        return (f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="tensorstat report" '
                'style="width: 100%; height: 800px; border: 0"></iframe>')

    def __str__(self) -> str:
        return str(self.findings)

    __repr__ = __str__


def _number(value: Any) -> Any:
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _limits(limits: Mapping[str, float] | None) -> str:
    return ",".join(f"{rule}={float(limit)!r}" for rule, limit in (limits or {}).items())


def findings(path: str | os.PathLike[str], *, limits: Mapping[str, float] | None = None) -> Findings:
    """Judges a run by fixed rules: NaN, Inf, overflow, jumps, drifts, dead outputs, frozen parameters, ranks that part.

        findings = tensorstat.findings("/tmp/dump")
        print(findings)                                       # the verdict, and what else was found
        [each.op_name for each in findings if each.rule == "jump"]
        tensorstat.findings("/tmp/dump", limits={"jump": 20})

    path    a file of rows (statistic.csv in any dialect), a dump's folder, or a store; "runs.db//a" is the run a of a store
    limits  other limits for rules that have one; report.md of the documents defines the rules

    Unreadable files are logged to logging.getLogger("tensorstat"). Error: nothing could be read, or a limit is wrong.
    """
    return Findings(said(_native.findings(path, _limits(limits), False)))


def report(path: str | os.PathLike[str], output: str | os.PathLike[str] | None = None, *,
           limits: Mapping[str, float] | None = None) -> Report:
    """Judges a run as findings() does, and draws it on one HTML page, which a notebook shows.

        tensorstat.report("/tmp/dump")                        # in a notebook: the page
        tensorstat.report("/tmp/dump", "page.html").findings  # writes the page, and gives the findings

    In a run with more than 16 million cells (tensors x ranks x iterations), a column of the page has several iterations.
    Error: as findings().
    """
    answer = _native.findings(path, _limits(limits), True)
    drawn = Report(Findings(said(answer)), answer[3] or "")
    if output is not None:
        drawn.save(output)
    return drawn
