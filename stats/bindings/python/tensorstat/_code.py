"""Finds the instructions of a function that write to existing objects without a call."""
import builtins
import dis
import functools
from types import CodeType
from typing import NamedTuple

_FORBIDDEN = {"__dict__", "__globals__", "__closure__", "__setattr__", "__delattr__", "__defaults__", "__kwdefaults__",
              "__subclasses__", "cell_contents", "gi_frame", "f_locals", "f_back", "f_globals"}
_WRITERS = {"__setitem__", "__delitem__", "__iadd__", "__ior__", "__iand__", "__isub__", "__imul__", "__ixor__", "methodcaller"}
_SETTERS = {"__setattr__", "__delattr__"}
_MODULES = {"torch", "math", "cmath", "operator", "typing", "typing_extensions", "functools", "collections", "enum", "dataclasses",
            "numbers", "abc", "contextlib", "itertools", "types", "__future__", "logging", "warnings"}


def is_trusted_module(name: str) -> bool:
    """Whether a module of Python holds nothing that a call could write to unseen: _guard sees the calls themselves."""
    return name.partition(".")[0] in _MODULES


class Code:
    """The facts about a function that are known before it runs."""
    __slots__ = ("refusal", "global_names", "names", "written_globals", "stores", "imports", "writes_items", "writes_self",
                 "has_finally", "first", "keywords", "calls_setters")

    def __init__(self, code: CodeType) -> None:
        self.names = set(code.co_names)
        self.global_names: set[str] = set()
        self.written_globals: set[str] = set()
        self.stores: dict[int, Store] = {}  # by the place of the instruction at which the owner has just been loaded
        self.imports: set[tuple[int, str]] = set()  # level and name of modules that are not trusted
        self.writes_items = self.writes_self = self.has_finally = self.calls_setters = False
        self.first = code.co_varnames[0] if code.co_argcount else ""
        number = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        self.keywords = code.co_varnames[number] if code.co_flags & 8 else ""
        self.refusal = self._look(code)

    def _look(self, code: CodeType) -> str:
        all_of_it = list(dis.get_instructions(code))
        is_generated = code.co_filename == "<string>" and code.co_name == "__init__"  # a frozen dataclass's
        if is_generated or self.names & _SETTERS and _sets_by_super(all_of_it) and not _is_assigned(all_of_it, self.first):
            self.writes_self = True
        told = self.names | {each for each in code.co_consts if isinstance(each, str)}  # getattr(x, "__dict__")
        if "__dict__" in told and _only_reads_attributes(all_of_it) and "__dict__" not in code.co_consts:
            told.remove("__dict__")
        self.writes_items = bool(told & _WRITERS)
        if forbidden := sorted(told & (_FORBIDDEN - _SETTERS if self.writes_self else _FORBIDDEN)):
            return f"uses {forbidden[0]}"
        if code.co_flags & 0x2A0 & ~0x20:  # a coroutine
            return "is asynchronous"
        for number, each in enumerate(all_of_it):
            name = each.opname
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                self.global_names.add(each.argval)
                if each.argval in ("setattr", "delattr"):
                    place, written = _store_of_call(all_of_it, number)
                    if written is None:
                        return f"calls {each.argval} of another object"
                    self.calls_setters = True
                    self.stores[place] = written
            elif name == "STORE_GLOBAL":
                self.written_globals.add(each.argval)
            elif name in ("DELETE_GLOBAL", "STORE_NAME"):
                return f"writes the global {each.argval}"
            elif name in ("STORE_DEREF", "DELETE_DEREF") and each.argval in code.co_freevars:
                return f"writes {each.argval}, which the function around it holds"
            elif name == "IMPORT_NAME":
                level = all_of_it[number - 2].argval if number >= 2 else None
                if not isinstance(level, int):
                    return f"imports {each.argval}"
                if level or not is_trusted_module(each.argval):
                    self.imports.add((level, each.argval))  # one that is loaded already: the guard sees the others when they are
            elif name == "LOAD_BUILD_CLASS":
                return "makes a class"
            elif name in ("STORE_ATTR", "DELETE_ATTR"):
                where, store = _store_of(all_of_it, number)
                if store is None:
                    return f"{'assigns' if name == 'STORE_ATTR' else 'deletes'} .{each.argval} of another object"
                if not store.is_global and not store.path and store.root == self.first and not _is_assigned(all_of_it, self.first):
                    self.writes_self = True
                else:
                    self.stores[where] = store
            elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE") or (name == "BINARY_OP" and each.argrepr.endswith("=")):
                self.writes_items = True
            elif name == "PUSH_EXC_INFO" and not _leads_to_match(all_of_it, number + 1):
                if not _only_raises(all_of_it, number + 1):
                    return "has an except that takes everything"
                self.has_finally = True
            elif name == "CHECK_EXC_MATCH" and (target := _target_behind(all_of_it, number)) is not None:
                if not all_of_it[target].opname == "RERAISE" and not _leads_to_match(all_of_it, target):
                    return "has an except that takes everything"
        return ""


@functools.lru_cache(maxsize=4096)
def code_of(code: CodeType) -> Code:
    return Code(code)


class Store(NamedTuple):
    """An attribute that is written: of what a name and its attributes lead to."""
    root: str
    is_global: bool
    path: tuple[str, ...]
    attribute: str


def _store_of(all_of_it: list[dis.Instruction], number: int) -> tuple[int, Store | None]:
    """The target of a write instruction, and where that was loaded; None if the target is not a name with attributes."""
    end = number
    if all_of_it[number - 1].opname == "SWAP":  # x.y += 1 reads it first
        for place in range(number - 2, 1, -1):
            if all_of_it[place].opname == "LOAD_ATTR" and all_of_it[place - 1].opname == "COPY" and all_of_it[place - 1].arg == 1:
                end = place - 1 if all_of_it[place].argval == all_of_it[number].argval else number
                break
    path: list[str] = []
    place = end - 1
    while place > 0 and all_of_it[place].opname == "LOAD_ATTR":
        path.insert(0, str(all_of_it[place].argval))
        place -= 1
    root = all_of_it[place]
    is_known = _is_load(root) and not any(each.is_jump_target for each in all_of_it[place + 1:end + 1])
    store = Store(_words(root)[-1], root.opname == "LOAD_GLOBAL", tuple(path), str(all_of_it[number].argval)) if is_known else None
    return all_of_it[end].offset, store


def _store_of_call(all_of_it: list[dis.Instruction], number: int) -> tuple[int, Store | None]:
    """As _store_of, of a call of setattr or delattr."""
    called, root = all_of_it[number:number + 2]
    place = number + 2
    path: list[str] = []
    while len(_words(root)) == 1 and all_of_it[place].opname == "LOAD_ATTR":
        path.append(str(all_of_it[place].argval))
        place += 1
    if not (called.arg or 0) & 1 or not _is_load(root) or any(each.is_jump_target for each in all_of_it[number + 1:place + 1]):
        return 0, None  # it is handed on, or of what a call gives
    return all_of_it[place].offset, Store(_words(root)[0], root.opname == "LOAD_GLOBAL", tuple(path), str(called.argval))


def _is_load(instruction: dis.Instruction) -> bool:
    return "LOAD_FAST" in instruction.opname or instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF")


def _is_assigned(all_of_it: list[dis.Instruction], name: str) -> bool:
    return any(each.opname.startswith(("STORE_FAST", "STORE_DEREF", "DELETE_")) and name in _words(each) for each in all_of_it)


def _sets_by_super(all_of_it: list[dis.Instruction]) -> bool:
    """Whether __setattr__ and __delattr__ are those that super() has for the first argument alone."""
    for number, each in enumerate(all_of_it):
        if str(each.argval) in _SETTERS and each.opname != "LOAD_SUPER_ATTR":  # Python 3.11 calls super() by itself
            before = [other.opname for other in all_of_it[max(number - 3, 0):number]]
            if before[-1:] != ["CALL"] or all_of_it[number - 1].arg or all_of_it[number - 3].argval != "super":
                return False
    return True


def _only_reads_attributes(all_of_it: list[dis.Instruction]) -> bool:
    """Whether each __dict__ is only read at once, or copied."""
    for number, each in enumerate(all_of_it[:-1]):
        behind = all_of_it[number + 1]
        is_asked = behind.opname in ("CONTAINS_OP", "GET_ITER") or behind.argval in ("get", "keys", "values", "items")
        is_copied = behind.opname in ("CALL", "PRECALL") and behind.arg == 1 and "deepcopy" in (
            all_of_it[number - 2].argval, all_of_it[number - 3].argval)
        if each.argval == "__dict__" and not (is_asked or is_copied):
            return False
    return True


def _words(instruction: dis.Instruction) -> tuple[str, ...]:
    """The names of a LOAD_FAST or STORE_FAST; newer Pythons join two in one instruction."""
    names = instruction.argval
    return tuple(names) if isinstance(names, tuple) else (str(names),)


def _only_raises(all_of_it: list[dis.Instruction], number: int) -> bool:
    """Whether an exception handler ends by raising the caught exception, on every path."""
    places = {each.offset: place for place, each in enumerate(all_of_it)}
    waiting, seen = [number], set()
    while waiting:
        place = waiting.pop()
        if place in seen or place >= len(all_of_it):
            continue
        seen.add(place)
        each = all_of_it[place]
        if each.opname == "POP_EXCEPT" or each.opname.startswith(("RETURN_", "YIELD_")):
            return False
        if each.opname in ("RERAISE", "RAISE_VARARGS"):
            continue
        if "JUMP" in each.opname or each.opname == "FOR_ITER":
            waiting.append(places[each.argval])
        if not each.opname.startswith("JUMP_") or "_IF_" in each.opname:
            waiting.append(place + 1)
    return True


def _leads_to_match(all_of_it: list[dis.Instruction], number: int) -> bool:
    """Whether an exception handler names its exception type, and catches no more than Exception. A handler of `with` does neither."""
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
