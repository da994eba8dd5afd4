"""watch.ndjson: what the rows of a watch do not say. stats/doc/origin.md has its lines."""
import contextlib
import json
import os
import sys
from types import CodeType, FrameType
from typing import Any

from ._library import above_standard, logger

OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_own_code: dict[CodeType, bool] = {}  # whether a function is the caller's own


class Journal:
    """Lines of a file that are written when a step ends, or something is wrong."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: list[str] = []
        self._is_lost = self._is_begun = False

    def say(self, kind: str, **members: Any) -> None:
        self._lines.append(json.dumps({"kind": kind, **members}) + "\n")

    def flush(self) -> None:
        if not self._lines or self._is_lost:
            return
        lines, self._lines = self._lines, []
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "a", encoding="utf-8", opener=above_standard) as file:
                if not self._is_begun and _is_cut(self.path):
                    file.write("\n")
                self._is_begun = True
                file.write("".join(lines))
        except OSError as fault:
            self._is_lost = True
            logger.warning("%s cannot be written, and origin will not know lines of code: %s", self.path, fault.strerror)


def _is_cut(path: str) -> bool:
    """Whether the file's last line has no end: the run that wrote it was killed, or the disk was full."""
    with contextlib.suppress(OSError), open(path, "rb", opener=above_standard) as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"
    return False


def caller_of(frame: FrameType | None) -> tuple[str, int, str] | None:
    """File, line and function of the innermost frame, from this one on, of the caller's own code: not torch's, not ours."""
    known = _own_code
    while frame is not None:
        code = frame.f_code
        is_own = known.get(code)
        if is_own or is_own is None and is_callers(code):
            return code.co_filename, frame.f_lineno, code.co_name
        frame = frame.f_back
    return None


def is_callers(code: CodeType) -> bool:
    is_own = _own_code.get(code)
    if is_own is None:
        is_own = _own_code[code] = _is_own(code)
    return is_own


def _is_own(code: CodeType) -> bool:
    torch = sys.modules.get("torch")
    theirs = os.path.dirname(os.path.abspath(str(torch.__file__))) + os.sep if torch else OURS
    file = code.co_filename
    if not os.path.isabs(file):
        try:
            file = os.path.abspath(file)
        except OSError:  # the working directory is gone
            return not file.startswith("<")
    return not file.startswith((OURS, theirs)) and not code.co_filename.startswith(("<frozen", "<string>", "<__array"))
