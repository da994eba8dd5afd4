"""Two runs, and where NaN began in one."""
import json
import os
from typing import Any, overload

from . import _native
from ._library import Error, logger
from ._meter import default_meter
from ._named import compare_named, named_tensors

__all__ = ["compare", "origin"]

_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def _number(value: Any) -> Any:
    return _WORDS.get(value, value) if isinstance(value, str) else value


def said(answer: tuple[Any, str, list[str], str | None]) -> dict[str, Any]:
    """The JSON of an answer; what could not be read is logged."""
    _, text, faults, _ = answer
    for fault in faults:
        logger.warning("%s", fault)
    members: dict[str, Any] = json.loads(text)
    return members


def _found(answer: tuple[Any, str, list[str], str | None]) -> dict[str, Any]:
    members = said(answer)
    for pair in members.get("pairs", ()):
        for sides in pair["stats"].values():
            sides.update({side: _number(value) for side, value in sides.items()})
        elements = pair.get("elements", {})
        elements.update({name: _number(value) for name, value in elements.items()})
    for beginning in members.get("first", ()):
        beginning["added"] = _number(beginning["added"])
    for source in (*members.get("producers", ()), *members.get("entered", ()), *members.get("unknown", ()),
                   *members.get("turned", ())):
        for tensor in source["inputs"]:
            tensor["stats"] = {name: _number(value) for name, value in tensor["stats"].items()}
    return members


def _lines(given: str | os.PathLike[str] | None) -> str:
    """The text itself, or what the file of a path object holds."""
    if isinstance(given, os.PathLike):
        with open(given, encoding="utf-8") as file:
            return file.read()
    return given or ""


@overload
def compare(a: str | os.PathLike[str], b: str | os.PathLike[str], *, rtol: float | None = ..., atol: float = ...,
            any_dtype: bool = ..., first: bool = ..., tolerances: str | os.PathLike[str] | None = ...,
            names: str | os.PathLike[str] | None = ...) -> dict[str, Any]: ...
@overload
def compare(a: Any, b: Any, *, rtol: float | None = ..., atol: float = ..., any_dtype: bool = ...,
            scale: str = ...) -> dict[str, Any]: ...
def compare(a: Any, b: Any, *, rtol: float | None = None, atol: float = 0.0, any_dtype: bool = False, first: bool = False,
            tolerances: str | os.PathLike[str] | None = None, names: str | os.PathLike[str] | None = None,
            scale: str = "b") -> dict[str, Any]:
    """Compares two arrays, two models or state_dicts, or two files or folders.

        tensorstat.compare(x, y, rtol=1e-3)["cosine"]

    Two arrays: every statistic of the pair, as Meter.compare says, with its rtol (0 by default), atol and scale.

    Two mappings of tensors, such as a state_dict, or two torch.nn.Modules: like two files of tensors, by their names, with rtol, atol and
    any_dtype; "elements" of a pair has every statistic of the two.

        [pair["a"] for pair in tensorstat.compare(model, torch.load("model.pt"))["pairs"] if pair["verdict"] == "different"]

    Two paths: files or folders of rows, or of tensors, which are measured.

        comparison = tensorstat.compare("npu/rank_0", "gpu/rank_0", first=True)
        comparison["first"][0]["op_name"]    # the first operator with equal inputs and different outputs
        [pair["a"] for pair in comparison["pairs"] if pair["verdict"] == "different"]

    Gives {"compared": n, "different": n, "unmatched_a": [...], "unmatched_b": [...], "pairs": [{"a", "b", "verdict",
    "why", "op_name", "io", "slot", "stats": {name: {"a", "b"}}, ...}]}, and with first=True "first": [{"op_type",
    "op_name", "rank", "iteration", "io", "slot", "added", "enters", "phase", "inside", "file", "line"}].
    "since" is there, too, if the dump has no inputs of the operator: the call before it.

    verdict     "equal", "within" the tolerance, or "different"; what cannot be judged is different
    rtol, atol  within: |a - b| <= atol + rtol * max(|a|, |b|); without rtol: 1e-5, 2^-10 of float16, 2^-8 of bfloat16,
                0 of integers
    any_dtype   tensors of different dtypes are compared by their values; wants rtol
    tolerances  lines of NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any, or the pathlib.Path of a file of these
    names       lines of NAME_IN_A,NAME_IN_B for tensors with other names in b; old/*,new/* for beginnings

    Unreadable files are logged to logging.getLogger("tensorstat"); Error if one side gives nothing at all.
    """
    if not (isinstance(a, (str, os.PathLike)) and isinstance(b, (str, os.PathLike))):
        named_a, named_b = named_tensors(a), named_tensors(b)
        if named_a is not None and named_b is not None and not first and tolerances is None and names is None and scale == "b":
            if any_dtype and rtol is None:
                raise Error("any_dtype wants rtol: two dtypes have no tolerance of their own")
            return compare_named(default_meter(), named_a, named_b, rtol=rtol, atol=atol, any_dtype=any_dtype)
        if any_dtype or first or tolerances is not None or names is not None:
            raise Error("first, tolerances and names are for two paths, any_dtype for these and for two models; two arrays have rtol, "
                        "atol and scale")
        return default_meter().compare(a, b, rtol=rtol or 0.0, atol=atol, scale=scale)
    return _found(_native.diff(a, b, -1.0 if rtol is None else rtol, atol, any_dtype, first, _lines(tolerances),
                               _lines(names)))


class Origin(dict[str, Any]):
    """The result of origin(): a dict. Printed it is the sentence that tells where NaN or Inf began, from what, and why."""

    def __str__(self) -> str:
        verdict = self["verdict"]
        lines = [verdict["sentence"], *("  " + detail for detail in verdict["details"])]
        return "\n".join([*lines, *("note: " + note for note in self["notes"])])

    __repr__ = __str__


def origin(path: str | os.PathLike[str], *, nan_only: bool = False, inf: bool = False) -> Origin:
    """Where NaN and Inf began in a dump.

        print(tensorstat.origin("/tmp/dump"))            # the answer in words
        tensorstat.origin("/tmp/dump")["verdict"]["op_name"]

    Gives {"verdict": {"kind", "certainty", "op_type", "op_name", "phase", "rank", "iteration", "io", "slot",
    "last_clean_iteration", "file", "line", "operation", "inside", "not_watched", "sentence", "details"}, "notes": [...], "producers": [...],
    "entered": [...], "unknown": [...], "turned": [...], "propagators": [...]}; unknown values are None.

    kind      "none"; "entered", with the data; "produced", by a call of the forward or the backward; "loss", by what
              follows the model, or by its backward; "parameter", there before anything ran; "gradient", changed between
              backward and the step; "optimizer"; "unknown", the rows cannot tell, and the sentence names the missing rows
    phase     "parameter", "input", "forward", "loss", "backward", "gradient", "optimizer"
    notes     events that are not faults: NaN and Inf that ended, steps that a gradient scaler skipped
    nan_only  Inf is not a fault
    inf       an Inf that ended is a fault, too; an Inf of a mask ends in a softmax

    not_watched  what a watch was told to leave out: "parameters", "gradients", "loss"

    The lists have every call with NaN or Inf by its effect, by the rules of the verdict. The verdict is the first of its
    list: "producers" made NaN or Inf, "entered" is the data or a parameter, "unknown" is where it is seen first and the rows
    cannot tell who made it. Each has its operator, rank, iteration, "nan" and "inf" (counts; None where it is there and was
    not counted), the operators "before" it and its "inputs" with their statistics. "propagators" were given it and passed it
    on. "turned" are the propagators that made NaN of an Inf, as Inf - Inf does. Faults that ended are in "notes".
    """
    if nan_only and inf:
        raise Error("nan_only and inf contradict each other: pass one of them")
    return Origin(_found(_native.origin(path, 2 if inf else int(nan_only))))
