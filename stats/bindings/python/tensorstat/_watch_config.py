"""Reads a watch's config, and prepares its folder."""
import contextlib
import json
import operator
import os
import re
import shutil
from typing import Any

from ._library import Error, replace_file


def config_of_path() -> str:
    """A data_dump.json that wants the statistics of everything. The folder is told beside it."""
    common = {"dump_mode": 0, "path": "", "net_name": "model", "iteration": "all", "input_output": 0, "kernels": [],
              "support_device": list(range(8)), "op_debug_mode": 0, "saved_data": "statistic",
              "statistic_category": ["max", "min", "avg", "l2norm", "nan count", "positive inf count",
                                     "negative inf count", "zero count"]}
    return json.dumps({"common_dump_settings": common, "e2e_dump_settings": {"enable": True, "trans_flag": True}})


def members_of(config: str | os.PathLike[str] | None) -> dict[str, Any]:
    """The members of a config. The session reports unreadable configs."""
    text = str(os.environ.get("MINDSPORE_DUMP_CONFIG", "") if config is None else config)
    try:
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        members = json.loads(text)
    except (OSError, ValueError):
        return {}
    return members if isinstance(members, dict) else {}


def initial_iteration(config: Any, members: dict[str, Any]) -> tuple[int, Any]:
    """MindSpore's initial_iteration, and the config without it. The watch counts from it itself. So the lines of watch.ndjson have the
    numbers of the rows."""
    common = members.get("common_dump_settings")
    if not isinstance(common, dict):
        return 0, config
    first = common.get("initial_iteration")
    if type(first) is not int or not 0 < first < 2**31:
        return 0, config
    return first, json.dumps({**members, "common_dump_settings": {**common, "initial_iteration": 0}})


def has_scope(members: dict[str, Any]) -> bool:
    """Whether msprobe's config has a scope, which goes by what runs inside of what."""
    task = members.get(str(members.get("task")))
    return isinstance(task, dict) and bool(task.get("scope"))


def whole_number(number: Any, what: str, least: int, most: int) -> int:
    try:
        if isinstance(number, bool):
            raise TypeError
        whole = operator.index(number)
    except TypeError:
        raise TypeError(f"{what} is {number!r}; it is a whole number, from {least} on") from None
    if not least <= whole <= most:
        raise ValueError(f"{what} is {whole}; it is a whole number from {least} to {most}")
    return whole


def make_way(folder: str, exist: str, resume: bool | int) -> int:
    """The first iteration of a run into this folder, which an earlier run may have left rows in. `folder` is the net's, in
    the folder of a rank. The rank's events lie beside that."""
    of_rank, net = os.path.split(folder)
    run, rank = os.path.split(of_rank)
    events = [os.path.join(run, each, rank) for each in _names_in(run) if re.fullmatch(r"event_\d+(_\d+)?", each)]
    if exist == "replace":
        for event in events:
            shutil.rmtree(event, ignore_errors=True)
            if not _names_in(os.path.dirname(event)):
                os.rmdir(os.path.dirname(event))
        if rank == "rank_0":  # of all ranks
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(run, "alerts.ndjson"))
    steps = _steps_in(folder)
    if steps and exist == "replace":
        shutil.rmtree(folder)
        shutil.rmtree(os.path.join(of_rank, ".dump_metadata"), ignore_errors=True)
    elif not isinstance(resume, bool):
        _take_away_from(folder, resume)
        return resume
    elif steps and not resume:
        raise Error(f"{folder} has rows of an earlier run: give another path, exist=\"replace\" to remove them, or "
                    "resume=True to go on behind them", "unwritable")
    elif resume:
        nets = folder, *(os.path.join(event, net) for event in events)
        behind = 1 + max((step for each in nets for step in _steps_in(each, ["0"])), default=-1)  # evaluations stand before a step
        return max(behind, *_closed_before(folder), 0)
    return 0


def _closed_before(net: str) -> list[int]:
    """The iterations before which watches were closed, if steps without rows came last."""
    with contextlib.suppress(OSError), open(os.path.join(net, "watch.ndjson"), encoding="utf-8", errors="replace") as file:
        return [_iteration_in(line) for line in file if line.startswith('{"kind": "closed"')]
    return []


def _take_away_from(net: str, iteration: int) -> None:
    """Removes the rows from this iteration on, and the lines about them."""
    for graph in _names_in(net):
        for step in _names_in(os.path.join(net, graph)) if graph.isdigit() else ():
            if step.isdigit() and int(step) >= iteration:
                shutil.rmtree(os.path.join(net, graph, step), ignore_errors=True)
    path = os.path.join(net, "watch.ndjson")
    with contextlib.suppress(OSError):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            kept = [line for line in file if _iteration_in(line) < iteration]
        replace_file(path, "".join(kept))


def _iteration_in(line: str) -> int:
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        return int(json.loads(line).get("iteration", -1))
    return -1


def _steps_in(net: str, graphs: list[str] | None = None) -> list[int]:
    graphs = [each for each in _names_in(net) if each.isdigit()] if graphs is None else graphs
    return [int(step) for graph in graphs for step in _names_in(os.path.join(net, graph)) if step.isdigit()]


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
