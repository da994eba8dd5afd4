"""The extension, with the types that the package's modules use. stats/bindings/python/native/ has its functions."""
from typing import Any

DTYPES: list[str]
STATISTICS: list[str]
VERSION: str

class Measured:
    dtype: str | None
    shape: tuple[int, ...] | None
    _values: dict[str, Any]
    def __init__(self, values: dict[str, Any], dtype: str | None = ..., shape: tuple[int, ...] | None = ...) -> None: ...

def __getattr__(name: str) -> Any: ...
