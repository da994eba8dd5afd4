"""Tensors by name: mappings such as a state_dict, and models."""
import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._library import Error

_RTOL = {"float64": 1e-5, "float32": 1e-5, "complex64": 1e-5, "complex128": 1e-5, "float16": 2.0**-10, "bfloat16": 2.0**-8,
         "float8_e4m3fn": 2.0**-3, "float8_e4m3fnuz": 2.0**-3, "float8_e5m2": 2.0**-2, "float8_e5m2fnuz": 2.0**-2}
_NUMBERED = re.compile("tensor ([0-9]+): ")


def named_tensors(x: Any) -> dict[Any, Any] | None:
    """{name: tensor} of a mapping, or of a torch.nn.Module; None for anything else. A module's state_dict may have other values, which are
    left out."""
    if isinstance(x, dict):
        return x
    kind: Any = type(x)
    of_type = _names_of_type(kind)
    return None if of_type is None else of_type(x)


@functools.lru_cache(maxsize=64)  # most tensors are of a few types, and a small one is measured in a microsecond
def _names_of_type(kind: type) -> Callable[[Any], dict[Any, Any]] | None:
    if hasattr(kind, "named_parameters") and hasattr(kind, "state_dict"):
        return _names_of_model
    return _names_of_mapping if issubclass(kind, Mapping) else None


def _names_of_model(model: Any) -> dict[Any, Any]:
    return {name: tensor for name, tensor in model.state_dict().items() if hasattr(tensor, "data_ptr")}


def _names_of_mapping(mapping: Mapping[Any, Any]) -> dict[Any, Any]:
    return dict(mapping)


def by_name(refused: Error, names: Iterable[Any]) -> Error:
    """The error with the name of the tensor that it numbers."""
    words, names = str(refused.args[0]), list(names)
    numbered = _NUMBERED.match(words)
    if numbered is None or int(numbered[1]) >= len(names):
        return refused
    return Error(f"{names[int(numbered[1])]}: {words[numbered.end():]}", refused.code)


def compare_named(meter: Any, a: dict[Any, Any], b: dict[Any, Any], *, rtol: float | None, atol: float,
                  any_dtype: bool) -> dict[str, Any]:
    """As two files of tensors are compared, with every statistic of the two as "elements"."""
    pairs = [_pair(meter, name, a[name], b[name], rtol, atol, any_dtype) for name in a if name in b]
    return {"compared": len(pairs), "different": sum(pair["verdict"] == "different" for pair in pairs),
            "unmatched_a": [name for name in a if name not in b], "unmatched_b": [name for name in b if name not in a],
            "pairs": pairs}


def _pair(meter: Any, name: Any, a: Any, b: Any, rtol: float | None, atol: float, any_dtype: bool) -> dict[str, Any]:
    pair: dict[str, Any] = {"a": name, "b": name, "verdict": "different", "why": "", "op_name": name}
    try:
        of_a, of_b = meter.measure(a, "count"), meter.measure(b, "count")
        if of_a.shape != of_b.shape:
            pair["why"] = f"shape {of_a.shape} and {of_b.shape}"
            return pair
        if of_a.dtype != of_b.dtype and not any_dtype:
            pair["why"] = f"dtype {of_a.dtype} and {of_b.dtype}"
            return pair
        is_complex = of_a.dtype.startswith("complex") and of_b.dtype.startswith("complex")
        if is_complex:
            a, b = _parts_of(a), _parts_of(b)
        pair["elements"] = meter.compare(a, b, rtol=_RTOL.get(of_a.dtype, 0.0) if rtol is None else rtol, atol=atol, scale="greater")
    except Error as refused:
        if refused.code != "unsupported":
            raise by_name(Error(f"tensor 0: {refused}", refused.code), [name]) from None
        pair["why"] = str(refused)
        return pair
    elements = pair["elements"]
    if elements["unequal count"] == 0:
        pair["verdict"] = "equal" if of_a.dtype == of_b.dtype else "within"
    elif elements["within count"] == elements["count"]:
        pair["verdict"] = "within"
    else:
        pair["why"] = f"{elements['count'] - elements['within count']} of {elements['count']} {'parts' if is_complex else 'elements'}"
    return pair


def _parts_of(x: Any) -> Any:
    """The parts of complex numbers, as another dimension of 2. An object of another library stays as it is."""
    if hasattr(x, "resolve_conj"):
        torch = sys.modules["torch"]
        return torch.view_as_real(x.detach().resolve_conj().resolve_neg())
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(x, numpy.ndarray):
        return x
    return numpy.ascontiguousarray(x).view(x.real.dtype).reshape(*x.shape, 2)
