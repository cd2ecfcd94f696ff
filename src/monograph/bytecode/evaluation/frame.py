"""Frames, and the state of the thread that evaluates them, as data.

A frame is one call in progress; it holds real Python values.

`lasti` is the byte offset of the current instruction in `code.co_code`, as CPython has it, so the
instruction's line and columns are those of `co_positions`. The `f_*` attributes are what Python
code expects of a frame.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from types import CellType
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from collections.abc import Set as AbstractSet
    from types import CodeType, FrameType, FunctionType, TracebackType

    from monograph.bytecode.instructions import Handler

    Polyfill = Callable[["ThreadState", list[Any], dict[str, Any]], Any]

__all__ = [
    "MISSING",
    "MOVED",
    "NULL",
    "PASS_ON",
    "RETURN",
    "YIELD",
    "Body",
    "Handling",
    "InterpreterFrame",
    "Mark",
    "ThreadState",
]


class Mark:
    """A value that no program has."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


MISSING: Final = Mark("missing")
"""No value: of a variable, an attribute, an old value."""
NULL: Final = Mark("null")
"""Stands on the stack where a call has no self."""

# What a handler returns to the loop when it does not simply go on.
RETURN: Final = Mark("return")
YIELD: Final = Mark("yield")
PASS_ON: Final = Mark("pass on")
MOVED: Final = Mark("moved")
"""The answer of hooks that have put the frame elsewhere."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Body:
    """The linked body of one code object; it does not keep the code alive.

    `steps` are pairs (handler, argument); `names` are what the instructions are called.
    `parameters` are the slots of those that callers can name; `n_plain` is the number of parameters
    where all are positional, else -1. `is_native` marks code that is never interpreted: our own,
    and what only makes sense to CPython's frames.
    `looks` is what tracebacks show in its place, once there is one, and `in_sight` what profilers
    do.
    `stops` are the instructions in place of which this copy of the body stops; `stopped` are copies
    of this one that stop elsewhere, too. `around` are the handlers, by their targets, of contexts
    that were entered before: they are not for a copy to leave because it is given up.
    """

    steps: list[tuple[Callable[[InterpreterFrame, Any], Any], Any]]
    names: tuple[str, ...]
    handlers: tuple[Handler | None, ...]
    offsets: list[int]
    slots: tuple[str, ...]
    parameters: Mapping[str, int]
    n_plain: int
    empty: list[Any]
    is_native: bool
    looks: CodeType | None = None
    in_sight: Callable[..., Mark] | None = None
    stops: frozenset[int] = frozenset()
    around: frozenset[int] = frozenset()
    stopped: dict[tuple[frozenset[int], frozenset[int]], Body] = field(
        default_factory=dict[tuple[frozenset[int], frozenset[int]], "Body"]
    )


@dataclass(slots=True, eq=False)
class Handling:
    """The exception being handled by the plain calls of one generator, or of none."""

    error: BaseException | None = None
    previous: Handling | None = None


@dataclass(init=False, slots=True, eq=False, repr=False, weakref_slot=True)
class ThreadState:
    """What the frames of one thread share, as in CPython; one interpreter serves one thread.

    The hooks (see `Hooks`) are None where nobody overrides them. `strange` are lists and tuples
    that are not what they look like, by identity: the hooks answer for them. `body` links code.
    `has_room` is whether its outermost frame raised the native recursion limit.
    `current` is the innermost frame, `caller` the native one that the outermost call came from.
    `clones` are copies of iterators that others hold beside the frame that was copied, each with
    what it is a copy of; `stale` are iterators that do not stand where eager code's do.
    Of the exception that is leaving frames, `passing` is itself, `clean` the entries of its
    traceback that are clean already; `told` is the one that native code was told is being handled.
    """

    alike: Callable[..., Any] | None
    body: Callable[[CodeType], Body]
    caller: FrameType | None
    clones: dict[int, tuple[Any, Any]]
    clean: TracebackType | None
    compared: Callable[..., Any] | None
    current: InterpreterFrame | None
    enters: Callable[[FunctionType], bool] | None
    fork: Callable[..., Any] | None
    handling: Handling
    has_room: bool
    inverted: Callable[..., Any] | None
    island: Callable[[FunctionType, str], None]
    iterated: Callable[..., Any] | None
    natively: Callable[..., Any] | None
    raised: Callable[..., None]
    passing: BaseException | None
    polyfilled_methods: AbstractSet[str]
    polyfills: Mapping[int, Polyfill]
    read_attribute: Callable[..., Any] | None
    read_cell: Callable[..., Any] | None
    read_global: Callable[..., Any] | None
    repeat: Callable[..., Any] | None
    replacement: Callable[..., Any] | None
    run: Callable[..., Mark]
    stale: dict[int, Any]
    strange: dict[int, Any]
    aside: Callable[[], Any]
    chosen_item: Callable[..., Any]
    strange_call: Callable[..., Any]
    strange_item: Callable[..., Any]
    strange_truth: Callable[..., Any]
    strange_use: Callable[..., None]
    text: Callable[..., Any] | None
    told: BaseException | None
    truth: Callable[..., Any] | None
    uncatchable: tuple[type[BaseException], ...]
    verdicts: dict[int, tuple[bool, CodeType]]
    written: Callable[..., None] | None

    def call(self, callee: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call, interpreting whatever is Python and the hooks enter."""
        raise NotImplementedError

    def stays_outside(self, function: FunctionType, reason: str) -> bool:
        """Whether the policy wants a function to run natively, which it is then told of once."""
        code = function.__code__
        known = self.verdicts.get(key := identity(code))
        if known is None:
            outside = self.enters is not None and not self.enters(function)
            known = self.verdicts[key] = (outside, code)  # kept, so that it stays that
            if outside:
                self.island(function, reason)
        return known[0]


class InterpreterFrame:
    """One call in progress."""

    __slots__ = (
        "__weakref__",
        "back",
        "body",
        "builtins",
        "code",
        "depth",
        "function",
        "globals",
        "interpreter",
        "ip",
        "is_copy",
        "leavings",
        "names",
        "outside",
        "slots",
        "stack",
        "value",
        "view",
    )

    f_trace = None
    back: InterpreterFrame | None
    body: Body
    builtins: Mapping[str, Any]
    code: CodeType
    depth: int
    function: FunctionType | None
    globals: dict[str, Any]
    interpreter: ThreadState
    ip: int
    is_copy: bool
    leavings: tuple[Any, ...]
    names: MutableMapping[str, Any] | None
    outside: Any
    slots: list[Any]
    stack: list[Any]
    value: Any
    view: Any

    def __init__(
        self,
        interpreter: ThreadState,
        code: CodeType,
        body: Body,
        slots: list[Any],
        function: FunctionType,
    ) -> None:
        """Start before the first instruction of a function."""
        self.interpreter = interpreter
        self.code = code
        self.body = body
        self.slots = slots
        self.function = function
        self.globals = function.__globals__
        self.builtins = function.__builtins__
        self.names = None
        self.outside = None
        self.stack = []
        self.ip = 0
        self.is_copy = False
        self.leavings = ()
        self.back = None
        self.value = None
        self.depth = 0
        self.view = None

    def copied(self) -> InterpreterFrame:
        """Return the same frame once more, which shares everything with this one, to be replaced.

        Written out, as `copy.copy` takes ten times as long.
        """
        made = object.__new__(InterpreterFrame)
        made.interpreter, made.code, made.body = self.interpreter, self.code, self.body
        made.function, made.globals, made.builtins = self.function, self.globals, self.builtins
        made.names, made.outside, made.depth = self.names, self.outside, self.depth
        made.stack, made.slots, made.ip = self.stack, self.slots, self.ip
        made.leavings, made.back, made.value = self.leavings, self.back, self.value
        made.view, made.is_copy = self.view, True
        return made

    def __repr__(self) -> str:
        return f"<frame of {self.code.co_qualname}, line {self.f_lineno}>"

    @property
    def lasti(self) -> int:
        """Byte offset of the current instruction; -1 before the first."""
        return self.body.offsets[self.ip - 1] if self.ip else -1

    @property
    def f_lasti(self) -> int:
        """As `lasti`."""
        return self.lasti

    @property
    def f_code(self) -> CodeType:
        """The code."""
        return self.code

    @property
    def f_globals(self) -> dict[str, Any]:
        """The module's variables."""
        return self.globals

    @property
    def f_builtins(self) -> Mapping[str, Any]:
        """The builtins."""
        return self.builtins

    @property
    def f_back(self) -> InterpreterFrame | FrameType | None:
        """The frame that called this one; of the outermost, the native one that called us."""
        return self.interpreter.caller if self.depth == 1 else self.back

    @property
    def f_lineno(self) -> int:
        """The line of the current instruction."""
        return line_of(self.code, self.lasti)

    @property
    def f_locals(self) -> MutableMapping[str, Any]:
        """The variables by name; of a function, a copy."""
        if self.names is not None:
            return self.names
        found: dict[str, Any] = {}
        for name, value in zip(self.body.slots, self.slots, strict=False):  # none when it ended
            held = cell_contents(value) if type(value) is CellType else value
            if held is not MISSING:
                found[name] = held
        return found

    def set_variable(self, slot: int, value: Any) -> None:
        """Give a variable a value, as a debugger does."""
        held = self.slots[slot]
        if type(held) is CellType:
            held.cell_contents = value
        else:
            self.slots[slot] = value

    def clear(self) -> None:
        """Forget the values of a call that is over."""
        self.stack.clear()
        self.slots.clear()


def cell_contents(cell: CellType) -> Any:
    """Return what a cell holds, or MISSING."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def line_of(code: CodeType, lasti: int) -> int:
    """Return the line of the instruction at this offset, or the nearest one before it."""
    if lasti < 0:
        return code.co_firstlineno
    positions = next(islice(code.co_positions(), lasti // 2, None), None)
    if positions is not None and positions[0] is not None:
        return positions[0]
    ranges = [(start, line) for start, _, line in code.co_lines() if line is not None]
    index = bisect_right([start for start, _ in ranges], lasti) - 1
    return ranges[index][1] if index >= 0 else code.co_firstlineno
