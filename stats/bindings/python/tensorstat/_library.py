"""The C library: its errors, its names and its messages."""
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["DTYPES", "STATISTICS", "Error"]

try:
    from . import _native
except ImportError as failure:
    raise ImportError(f"tensorstat's extension or its library libtensorstat.so cannot be loaded: {failure}") from None

DTYPES: list[str] = _native.DTYPES
STATISTICS: list[str] = _native.STATISTICS
NO_LIMIT = 2**64 - 1


class _Logger:
    """logging.getLogger("tensorstat"). What a handler or a filter of the process raises is dropped: a training goes on."""

    def log(self, level: int, words: str, *arguments: object, exc_info: BaseException | None = None) -> None:
        try:
            logging.getLogger("tensorstat").log(level, words, *arguments, exc_info=exc_info, stacklevel=3)
        except Exception:
            pass

    def warning(self, words: str, *arguments: object, exc_info: BaseException | None = None) -> None:
        self.log(logging.WARNING, words, *arguments, exc_info=exc_info)


logger = _Logger()


class Error(Exception):
    """An error, described in words.

    `code` is "invalid", "unsupported", "unreadable", "unwritable", "over budget", "device", "out of memory" or "in use".
    """

    def __init__(self, message: str, code: str = "invalid") -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return Error, (self.args[0], self.code)


def chosen(choices: Mapping[str, int], word: str, what: str) -> int:
    """The library's number of a word that a user may choose."""
    if word not in choices:
        raise Error(f"{what} is {word!r}; it can be {', '.join(choices)}")
    return choices[word]


def log(is_warning: bool, text: str) -> None:
    """Logs the messages of all meters and sessions."""
    logger.log(logging.WARNING if is_warning else logging.INFO, "%s", text)


def above_standard(path: str, flags: int) -> int:
    """An opener for open(): text printed to a closed stdout or stderr must not land in a file of this library."""
    low = os.open(path, flags, 0o666)
    if low > 2:
        return low
    try:
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(low)


def replace_file(path: str, text: str) -> None:
    """Writes a whole file. Another process that writes it meanwhile has a file of its own, and the last one stays."""
    made = os.path.join(os.path.dirname(path), f".new-{os.getpid()}-{time.time_ns()}")
    try:
        with open(made, "x", encoding="utf-8", errors="surrogateescape", newline="", opener=above_standard) as file:
            file.write(text)
        os.replace(made, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(made)
        raise
