"""watch.ndjson: what the rows of a watch do not say. stats/doc/origin.md has its lines."""
import json
import os
import sys
from types import CodeType, FrameType
from typing import Any

from ._library import above_standard, logger

OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_WAITING = 1 << 20  # bytes
_own_code: dict[CodeType, bool] = {}  # whether a function is the caller's own


class Journal:
    """Lines of a file that are written when a step ends, or something is wrong. What a full disk does not take is tried again."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lines: list[str] = []
        self._rest = b""  # that the disk did not take
        self._is_begun = self._is_said = False

    def say(self, kind: str, **members: Any) -> None:
        self._lines.append(json.dumps({"kind": kind, **members}) + "\n")

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        rest, self._rest = self._rest + "".join(lines).encode(), b""  # another thread may flush meanwhile
        if not rest:
            return
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            file = above_standard(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
            try:
                if not self._is_begun and (size := os.fstat(file).st_size) and os.pread(file, 1, size - 1) != b"\n":
                    rest = b"\n" + rest  # an earlier process died in a line
                self._is_begun = True
                while rest:
                    rest = rest[os.write(file, rest):]
            finally:
                os.close(file)
        except OSError as fault:
            if not self._is_said:
                self._is_said = True
                logger.warning("%s cannot be written, and origin will not know lines of code: %s", self.path, fault.strerror)
            self._rest = rest[:rest.rfind(b"\n", 0, _MOST_WAITING) + 1] + self._rest


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
