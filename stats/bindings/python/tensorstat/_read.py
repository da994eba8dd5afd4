"""Files, as the command reads them."""
import contextlib
import importlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from . import _native
from ._library import Error, logger
from ._meter import DEFAULT_STATISTICS, default_meter, request_of

__all__ = ["read"]


_JSON_OF_ROWS = "dump.json", "debug.json"  # msprobe's; what else ends in .json holds no rows


def _hdf5_lock(name: str) -> Any:
    """h5py's lock: its libhdf5 may be the one that reads here, and it serves one thread at a time."""
    h5py = sys.modules.get("h5py") if name.endswith((".h5", ".hdf5")) else None
    return h5py._objects.phil if h5py else contextlib.nullcontext()


@contextlib.contextmanager
def _on_disk(path: Any) -> Iterator[Any]:
    """The path. A URL of fsspec, such as "memory://x.npy", is copied to this disk for as long as it is read."""
    protocol, is_url, _ = os.fsdecode(path).partition("://")
    if not is_url or os.path.exists(path) or not protocol.replace("+", "").replace("-", "").replace("::", "").isalnum():
        yield path
        return
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise Error(f"{os.fsdecode(path)}: reading a URL needs the Python package fsspec") from None
    system, inside = fsspec.core.url_to_fs(os.fsdecode(path))
    if "file" in (protocol, *([system.protocol] if isinstance(system.protocol, str) else system.protocol)):
        yield inside
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, os.path.basename(inside.rstrip("/")) or "tensors")
        try:
            system.get(inside, copy, recursive=system.isdir(inside))
        except Exception as failure:
            raise Error(f"{os.fsdecode(path)}: {type(failure).__name__}: {failure}", "unreadable") from None
        yield copy


def read(path: str | os.PathLike[str], stats: str | Iterable[str] = DEFAULT_STATISTICS, *, precision: str = "high",
         on: str = "auto", cast_scale: float = 1.0, void_is_bfloat16: bool = False, skip_faults: bool = False) -> Any:
    """The content of a file or folder: statistics of tensors, measured now, or rows of statistics that were written before.

        tensorstat.read("gradient.npy").max
        tensorstat.read("model.safetensors")["layer.0.weight"].l2norm
        tensorstat.to_pandas(tensorstat.read("rank_0/Net/0/10/statistic.csv"))
        tensorstat.to_pandas(tensorstat.read("runs/nan"))

    .npy                one Statistics; {name: Statistics} where it holds several arrays, "0", "1" and so on, or structures,
                        by the names of their fields
    .npz, .safetensors, .gguf, .onnx, .h5, .ckpt of MindSpore
                        {name: Statistics}, in the order of the file; and so of every other container the command reads,
                        such as model.safetensors.index.json
    .pt, .pth, .ckpt    what torch.save wrote: {name: Statistics} by the keys, "model.layer.weight"; one Statistics where
                        the file is a tensor
    .csv, dump.json     rows of a statistic.csv of any dialect, or of msprobe's dump.json: dicts with "op type", "op name",
                        "io", "slot", "shape", ..., and each statistic by its name

    a folder            the rows of every file of rows below it, each with "path" and, if the folders belong to a dump,
                        "rank", "graph" and "iteration"
    a store             the same of all its runs; "runs.db//a": of its run "a"

    stats, precision, on, cast_scale  as in measure()
    void_is_bfloat16      two-byte voids of an .npy are bfloat16, as ml_dtypes writes them
    skip_faults           a tensor of a container that cannot be measured, such as one of text, and a file of a folder that
                          cannot be read are left out with a warning to logging.getLogger("tensorstat"); else Error

    A URL of fsspec, such as "s3://bucket/model.safetensors", is copied to the disk first, a folder as a whole, if the package
    fsspec and its file system are installed.

    Files may be larger than memory, and are not trusted: nothing in them is evaluated or unpickled.
    """
    with _on_disk(path) as there:
        return _read(there, request_of(stats, precision, on, cast_scale), void_is_bfloat16, skip_faults)


def _is_in_store(path: str) -> bool:
    """Whether it is a store of rows, or the path of a run in one."""
    with contextlib.suppress(OSError, ValueError), open(path.partition("//")[0], "rb", opener=_without_waiting) as file:
        return file.read(16) == b"SQLite format 3\0"
    return False


def _without_waiting(path: str, flags: int) -> int:
    """An opener for open(): a pipe is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def _read(path: Any, request: Any, void_is_bfloat16: bool, skip_faults: bool) -> Any:
    name, is_folder = os.path.basename(os.fsdecode(path)), os.path.isdir(path) or _is_in_store(os.fsdecode(path))
    if is_folder or name.endswith(".csv") or name in _JSON_OF_ROWS:
        rows, refused = _native.read_rows(path)
        if refused is not None and not (is_folder and rows and skip_faults):
            raise refused
        if refused is not None:
            logger.warning("%s", refused)
        return rows
    with _hdf5_lock(name):
        tensors, faults = _native.measure_file(default_meter()._handle, path, request, void_is_bfloat16)
    if faults and not skip_faults:
        raise Error(faults[0], "unsupported")
    for fault in faults:
        logger.warning("%s", fault)
    if len(tensors) == 1 and tensors[0][0] is None:
        return tensors[0][1]
    return {"0" if name is None else name: statistics for name, statistics in tensors}
