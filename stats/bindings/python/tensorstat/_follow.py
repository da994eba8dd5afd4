"""A dump while it is written."""
import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from . import _native
from ._findings import Finding, Findings, _limits
from ._library import logger

__all__ = ["Row", "follow"]


class Row(dict[str, Any]):
    """A row of a dump, as read() gives it: "op name", "io", "slot", "rank", "iteration", "path", and each statistic."""


def follow(path: str | os.PathLike[str], *, rows: bool = True, findings: bool = True, limits: Mapping[str, float] | None = None,
           idle: float | None = None) -> Iterator[Row | Finding]:
    """The rows and the findings of a dump, as they come: a generator that reads new rows and waits.

        for news in tensorstat.follow("/tmp/dump"):
            if isinstance(news, tensorstat.Finding):
                print(news)                       # "error nan, iteration 937, rank 2: ..."
            elif news["op type"] == "Loss":
                plot(news["iteration"], news["avg"])

    path      a file of rows, a dump's folder, or a store ("runs.db//a" is its run a); it may be made later
    rows      False: only findings
    findings  False: only rows; then nothing of them is kept in memory, else 40 bytes a row, 48 with a digest
    limits    as in findings()
    idle      ends after so many seconds without rows; None: it never ends by itself

    The rows that are there already come first. A finding comes once, when it is found: as findings() would find it in the rows so
    far. NaN and Inf are found two iterations later, or after 5 seconds without rows, if they have not ended. Looking for rows
    takes about a hundredth of the time, and a row is there within two seconds. What cannot be read is logged.
    """
    follower = _native.follow(path, _limits(limits), findings)
    seen: set[tuple[Any, ...]] = set()
    last = time.monotonic()
    while True:
        new, count, text, faults, pause = _native.follower_look(follower, rows)
        for fault in faults:
            logger.warning("%s", fault)
        yield from map(Row, new)
        for finding in Findings(json.loads(text)) if text else ():
            key = (finding.rule, finding.op_name, finding.io, finding.slot, finding.rank, finding.first_iteration)
            if key not in seen:
                seen.add(key)
                yield finding
        if count:
            last = time.monotonic()
        elif idle is not None and time.monotonic() - last > idle:
            return
        time.sleep(pause)
