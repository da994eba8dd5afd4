"""python -m tensorstat: the command, with the same arguments."""
import os
import sys
from pathlib import Path


def program() -> Path | None:
    """The command of the prefix, or of the environment, in which this package lies."""
    for folder in Path(__file__).resolve().parents:
        if (command := folder / "bin" / "tensorstat").is_file():
            return command
    return None


def main() -> None:
    command = program()
    if command is None:
        sys.exit("tensorstat: the command is not installed where this package is (Debian: the package tensorstat)")
    os.execv(command, ["tensorstat", *sys.argv[1:]])


if __name__ == "__main__":
    main()
