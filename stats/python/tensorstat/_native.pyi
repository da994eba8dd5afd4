"""The extension, as far as the package's own modules lean on its types; its functions are those of stats/python/native/."""
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
