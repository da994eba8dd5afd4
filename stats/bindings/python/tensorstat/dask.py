"""A tree of files on the workers of Dask: tensorstat.dask.measure(paths, client).

The command plans, folds and merges (stats/doc/trees.md); Dask carries the states. Client and workers need the command and the
same files under the same paths."""
import os
import subprocess
import tempfile
from collections.abc import Iterable
from typing import Any

from . import _native
from ._library import Error, logger

__all__ = ["measure"]

_MERGED_AT_ONCE = 16


def measure(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], client: Any, stats: str = "", *,
            parts: int = 0, command: str = "tensorstat") -> list[dict[str, Any]]:
    """The rows of all tensors of files and folders, as tensorstat.read gives rows: the same as one call of the command.

        from dask.distributed import Client
        rows = tensorstat.dask.measure("/data/run", Client("scheduler:8786"), "max,nan count")
        tensorstat.to_pandas(rows)

    client      a dask.distributed.Client
    stats       names between commas; "": the command's default
    parts       how many tasks; 0: four for each thread of the workers
    command     the program, on the client and on the workers

    A task of a worker that dies runs again elsewhere. States are some 400 bytes a tensor; 16 at a time are merged on the
    workers. What could not be read is logged, and the other rows are returned. Error if the tree cannot be planned, or if
    a task fails three times.
    """
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    full = [os.path.abspath(os.fsdecode(each)) for each in listed]
    parts = parts or max(1, 4 * sum(client.nthreads().values()))
    with tempfile.TemporaryDirectory() as folder:
        asked = ["--stats", stats] if stats else []
        _run([command, "plan", "-q", *full, "--parts", str(parts), *asked, "-o", f"{folder}/plan"])
        lists = []
        for name in sorted(os.listdir(f"{folder}/plan")):
            with open(f"{folder}/plan/{name}", "rb") as file:
                lists.append(file.read())
        states = client.map(_fold, lists, command=command, retries=2, pure=False)
        while len(states) > _MERGED_AT_ONCE:
            states = [client.submit(_merge, states[start:start + _MERGED_AT_ONCE], command=command, retries=2, pure=False)
                      for start in range(0, len(states), _MERGED_AT_ONCE)]
        return _rows(client.gather(states), command, folder)


def _run(arguments: list[str], also: tuple[int, ...] = (), is_told: bool = True) -> None:
    """Status 3: some input could not be read, and the state or the rows say it; or other parts are missing so far."""
    ran = subprocess.run(arguments, capture_output=True, text=True, errors="replace")
    if ran.returncode not in (0, *also):
        raise Error(f"{' '.join(arguments[:2])} ended with {ran.returncode}: {ran.stderr.strip()}")
    if is_told and ran.stderr.strip():
        logger.warning("%s", ran.stderr.strip())


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _written(folder: str, states: Iterable[bytes]) -> list[str]:
    paths = []
    for number, state in enumerate(states):
        paths.append(f"{folder}/{number}.tsp")
        with open(paths[-1], "wb") as file:
            file.write(state)
    return paths


def _fold(part: bytes, command: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/part", "wb") as file:
            file.write(part)
        _run([command, "fold", "-q", f"@{folder}/part", "-o", f"{folder}/part.tsp"], also=(3,))
        return _read(f"{folder}/part.tsp")


def _merge(states: list[bytes], command: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        _run([command, "merge", "-q", *_written(folder, states), "-o", f"{folder}/all.tsp"], also=(3,), is_told=False)
        return _read(f"{folder}/all.tsp")


def _rows(states: list[bytes], command: str, folder: str) -> list[dict[str, Any]]:
    path = f"{folder}/rows.csv"
    _run([command, "merge", "-q", *_written(folder, states), "--columns", "path,tensor", "-o", path], also=(3,))
    rows, refused = _native.read_rows(path)
    if refused is not None:
        raise refused
    return list(rows)
