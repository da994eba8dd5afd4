"""What a function's instructions may do to objects that were there before: those that no call tells."""
import builtins
import dis
import functools
import sys
from types import CodeType

_FORBIDDEN = {"__dict__", "__globals__", "__closure__", "__setattr__", "__delattr__", "__defaults__", "__kwdefaults__",
              "__subclasses__", "cell_contents", "gi_frame", "f_locals", "f_back", "f_globals"}
_MODULES = {"torch", "math", "cmath", "operator", "typing", "typing_extensions", "functools", "collections", "enum", "dataclasses",
            "numbers", "abc", "contextlib", "itertools", "types", "__future__", "logging", "warnings"}


def is_trusted_module(name: str) -> bool:
    """Whether a module of Python holds nothing that a call could write to unseen: _guard sees the calls themselves."""
    return name.partition(".")[0] in _MODULES


class Code:
    """What can be told of a function before it runs."""
    __slots__ = ("refusal", "global_names", "names", "written_globals", "written_classes", "imports", "writes_items", "writes_self",
                 "first", "keywords")

    def __init__(self, code: CodeType) -> None:
        self.names = set(code.co_names)
        self.global_names: set[str] = set()
        self.written_globals: set[str] = set()
        self.written_classes: set[tuple[str, str]] = set()  # a name that ought to be a class's, and its attribute
        self.imports: set[str] = set()  # modules that are not trusted
        self.writes_items = self.writes_self = False
        self.first = code.co_varnames[0] if code.co_argcount else ""
        number = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        self.keywords = code.co_varnames[number] if code.co_flags & 8 else ""
        self.refusal = self._look(code)

    def _look(self, code: CodeType) -> str:
        is_generated = code.co_filename == "<string>" and code.co_name == "__init__"  # a frozen dataclass's
        if forbidden := sorted(self.names & (_FORBIDDEN - {"__setattr__"} if is_generated else _FORBIDDEN)):
            return f"uses {forbidden[0]}"
        if code.co_flags & 0x2A0 & ~0x20:  # a coroutine
            return "is asynchronous"
        all_of_it = list(dis.get_instructions(code))
        for number, each in enumerate(all_of_it):
            name = each.opname
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                self.global_names.add(each.argval)
            elif name == "STORE_GLOBAL":
                self.written_globals.add(each.argval)
            elif name in ("DELETE_GLOBAL", "STORE_NAME"):
                return f"writes the global {each.argval}"
            elif name in ("STORE_DEREF", "DELETE_DEREF") and each.argval in code.co_freevars:
                return f"writes {each.argval}, which the function around it holds"
            elif name == "IMPORT_NAME" and not is_trusted_module(each.argval):
                if number < 2 or all_of_it[number - 2].argval != 0:
                    return f"imports {each.argval} of its own package"
                self.imports.add(each.argval)  # one that is loaded already: the guard sees the others when they are
            elif name in ("LOAD_BUILD_CLASS", "DELETE_ATTR"):
                return "makes a class" if name == "LOAD_BUILD_CLASS" else f"deletes {each.argval}"
            elif name == "STORE_ATTR":
                owner = _owner_of(all_of_it, number)
                if owner is not None and owner.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                    self.written_classes.add((owner.argval, each.argval))
                elif owner is not None and _words(owner)[-1] == self.first and not _is_assigned(all_of_it, self.first):
                    self.writes_self = True
                else:
                    return f"assigns .{each.argval} of another object"
            elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE") or (name == "BINARY_OP" and each.argrepr.endswith("=")):
                self.writes_items = True
            elif name == "PUSH_EXC_INFO" and not _leads_to_match(all_of_it, number + 1):
                return "has a finally, or an except that takes everything"
            elif name == "CHECK_EXC_MATCH" and (where := _target_behind(all_of_it, number)) is not None:
                if not all_of_it[where].opname == "RERAISE" and not _leads_to_match(all_of_it, where):
                    return "has an except that takes everything"
        return ""


@functools.lru_cache(maxsize=4096)
def code_of(code: CodeType) -> Code:
    return Code(code)


def _owner_of(all_of_it: list[dis.Instruction], number: int) -> dis.Instruction | None:
    """What loads the object that a STORE_ATTR writes to; None if that takes more than one instruction."""
    before = all_of_it[number - 1]
    if before.opname != "SWAP":
        return before if _is_load(before) else None
    for place in range(number - 2, 1, -1):  # self.x += 1 reads it first
        if all_of_it[place].opname == "LOAD_ATTR" and all_of_it[place - 1].opname == "COPY" and all_of_it[place - 1].arg == 1:
            owner = all_of_it[place - 2]
            return owner if all_of_it[place].argval == all_of_it[number].argval and _is_load(owner) else None
    return None


def _is_load(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("LOAD_FAST") or instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF")


def _is_assigned(all_of_it: list[dis.Instruction], name: str) -> bool:
    return any(each.opname.startswith("STORE_FAST") and name in _words(each) for each in all_of_it)


def _words(instruction: dis.Instruction) -> tuple[str, ...]:
    """The names of a LOAD_FAST or STORE_FAST, of which newer Pythons join two."""
    said = instruction.argval
    return tuple(said) if isinstance(said, tuple) else (str(said),)


def _leads_to_match(all_of_it: list[dis.Instruction], number: int) -> bool:
    """Whether an exception handler names what it takes, and takes no more than Exception. That of a `with` does neither."""
    while number < len(all_of_it):
        each = all_of_it[number]
        if each.opname in ("CHECK_EXC_MATCH", "WITH_EXCEPT_START"):
            return True
        if not each.opname.startswith("LOAD_") and each.opname not in ("BUILD_TUPLE", "PUSH_NULL", "NOP", "CACHE", "NOT_TAKEN"):
            return False
        if each.opname == "LOAD_GLOBAL":
            value = getattr(builtins, str(each.argval), None)
            if value is None or not (isinstance(value, type) and issubclass(value, Exception)):
                return False
        number += 1
    return False


def _target_behind(all_of_it: list[dis.Instruction], number: int) -> int | None:
    """Where a jump leads that follows."""
    for each in all_of_it[number + 1:number + 3]:
        if "JUMP" in each.opname:
            return next((place for place, other in enumerate(all_of_it) if other.offset == each.argval), None)
    return None
