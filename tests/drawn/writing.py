"""Random whole programs, as the source of a Python module: all follows from one number.

A statement is kept if it runs in eager code at the example, so the values that variables have say
which statements fit. Blocks are drawn on a copy of the variables, whether or not they are run.
"""

import contextlib
import itertools
import random
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tests.drawn import statements as drawn_from
from tests.drawn.calls import Inputs
from tests.drawn.definitions import ATTRIBUTES, GLOBALS, IMPORTS, METHODS
from tests.seeding import reseed

HOLE = re.compile(r"\$([a-zA-Z])\d?")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
LARGEST = 3000
INDENT = "    "
MODULE = "M"


def source_of(body: list[str], parameters: str, m: int) -> str:
    """The module of a forward with these lines, with what it names and nothing else."""
    text = "\n".join(body)
    attributes = [name for name in ATTRIBUTES if re.search(rf"\bself\.{name}\b|'{name}'", text)]
    methods = [METHODS[name] for name in METHODS if f"self.{name}" in text]
    named = {*NAME.findall(text)}
    lines = [IMPORTS, *(each for name, each in GLOBALS.items() if name in named), ""]
    lines += [f"class {MODULE}(torch.nn.Module):", "    def __init__(self):"]
    lines += ["        super().__init__()"]
    lines += [f"        {ATTRIBUTES[name].format(m=m)}" for name in attributes]
    lines += ["", *methods, f"    def forward(self, {parameters}):"]
    return "\n".join([*lines, *(2 * INDENT + line for line in body), ""])


def everything(m: int) -> str:
    """All that a program may name, and a module that has it."""
    attributes = [f"        {each.format(m=m)}" for each in ATTRIBUTES.values()]
    head = [f"class {MODULE}(torch.nn.Module):", "    def __init__(self):"]
    methods = [*METHODS.values(), "    def forward(self): pass"]
    return "\n".join(
        [IMPORTS, *GLOBALS.values(), *head, "        super().__init__()", *attributes, *methods]
    )


_EVERYTHING = {m: compile(everything(m), "everything.py", "exec") for m in range(1, 6)}


@dataclass
class Writer:
    """Writes one program; `rng` is its number, `example` what it is tried with."""

    rng: random.Random
    example: Inputs

    def __post_init__(self) -> None:
        self.fresh = map("v{}".format, itertools.count())
        chosen = [
            name
            for name in drawn_from.FAMILIES
            if self.rng.random() < 0.35 * drawn_from.WEIGHTS.get(name, 1.0)
        ]
        self.families = [drawn_from.FAMILIES[name] for name in chosen]
        self.writes_outside = "outside writes" in chosen
        self.has_data = "data" in chosen
        self.budget = self.rng.randint(2, 9)
        self.scope: dict[str, object] = {"__name__": "drawn"}
        reseed(0)
        exec(_EVERYTHING[self.example.sizes[1]], self.scope)
        self.names: dict[str, object] = {"self": self.scope[MODULE](), **self.example.arguments()}

    def body(self) -> list[str]:
        """Write the lines of forward, the result in the last."""
        lines = []
        while self.budget > 0:
            self.budget -= 1
            lines += self.statement(self.names, 0)
        return [*lines, self.result()]

    # --- statements ----------------------------------------------------------------------------

    def statement(self, names: dict[str, object], depth: int) -> list[str]:
        """One statement that runs with these variables, which it changes; none after some tries."""
        for _ in range(6):
            lines = self.block(names, depth) if self.is_block(depth) else self.simple(names, depth)
            if lines and self.runs(lines, names):
                return lines
        return []

    def is_block(self, depth: int) -> bool:
        """Whether the next statement has others in it."""
        return depth < 2 and self.budget > 0 and self.rng.random() < 0.22

    def runs(self, lines: list[str], names: dict[str, object]) -> bool:
        """Run it; what a statement that raises has written stays."""
        variables = {**self.scope, **names}
        try:
            exec("\n".join(lines), variables)
        except Exception:  # noqa: BLE001 - it is the statement's
            return False
        finally:
            torch.set_grad_enabled(True)
        found = {
            name: value
            for name, value in variables.items()
            if name not in self.scope and not name.startswith("_")
        }
        if any(value.numel() > LARGEST for value in found.values() if isinstance(value, Tensor)):
            return False
        names.clear()
        names.update(found)
        return True

    def simple(self, names: dict[str, object], depth: int) -> list[str]:
        """A statement on one line, or a whole one of the tables."""
        rng = self.rng
        roll = rng.random()
        if depth and roll < 0.45:
            template = rng.choice(drawn_from.SAME)
        elif self.families and roll < 0.7:
            template = rng.choice(rng.choice(self.families))
        elif self.writes_outside and roll < 0.75:
            template = rng.choice(drawn_from.AFTER_A_WRITE)
        elif roll < 0.82:
            template = f"$v = {rng.choice(drawn_from.ELEMENTWISE + drawn_from.VIEWS)}"
        elif roll < 0.9:
            template = f"$v = {rng.choice(drawn_from.VIEWS)}"
        else:
            template = rng.choice(drawn_from.WRITES)
        return self.filled(template, names).split("\n")

    def block(self, names: dict[str, object], depth: int) -> list[str]:
        """A statement with statements in it."""
        self.budget -= 1
        kind = self.rng.choice(("if", "if", "if", "for", "with", "while", "try", "def"))
        return getattr(self, f"{kind}_")(names, depth)

    def inner(self, names: dict[str, object], depth: int, **more: object) -> list[str]:
        """One to three statements, indented, drawn on a copy of the variables."""
        names = {**names, **more}
        lines = []
        for _ in range(self.rng.randint(1, 3)):
            lines += self.statement(names, depth + 1)
            self.budget -= 1
        return [INDENT + line for line in lines or ["pass"]]

    def if_(self, names: dict[str, object], depth: int) -> list[str]:
        """Branch on a size, on data where the program may, or on something else."""
        lines = [f"if {self.condition(names)}:", *self.inner(names, depth)]
        if self.rng.random() < 0.15:
            lines += [f"elif {self.condition(names)}:", *self.inner(names, depth)]
        if self.rng.random() < 0.4:
            lines += ["else:", *self.inner(names, depth)]
        return lines

    def for_(self, names: dict[str, object], depth: int) -> list[str]:
        """A small loop."""
        head = self.filled(self.rng.choice(drawn_from.LOOPS), names)
        targets = head.split(" in ")[0].removeprefix("for ").split(", ")
        rows = {each: names["x"] for each in targets if each in {"e", "a", "b"}}
        counts = {each: 1 for each in targets if each == "at"}
        lines = [head, *self.inner(names, depth, **rows, **counts)]
        if self.rng.random() < 0.3:
            lines.append(
                f"    if {self.condition(names)}: {self.rng.choice(('break', 'continue'))}"
            )
        if self.rng.random() < 0.15:
            lines += ["else:", *self.inner(names, depth)]
        return lines

    def while_(self, names: dict[str, object], depth: int) -> list[str]:
        """A loop that ends after a few rounds."""
        at = next(self.fresh)
        bound = self.filled(self.rng.choice(("$k", "$z", "$k")), names)
        extra = f" and ({self.condition(names)})" if self.rng.random() < 0.3 else ""
        lines = [f"{at} = 0", f"while {at} < {bound}{extra}:", f"    {at} += 1"]
        return [*lines, *self.inner(names, depth, **{at: 0})]

    def with_(self, names: dict[str, object], depth: int) -> list[str]:
        """A mode of PyTorch, or of Python."""
        head = self.filled(self.rng.choice(drawn_from.MODES), names)
        return [f"with {head}:", *self.inner(names, depth)]

    def try_(self, names: dict[str, object], depth: int) -> list[str]:
        """What is caught, or done in any case."""
        lines = ["try:", *self.inner(names, depth)]
        if self.rng.random() < 0.4:
            lines.append(f"    if {self.condition(names)}: raise ValueError('drawn')")
        kind = self.rng.choice(("ValueError", "Exception", "(ValueError, RuntimeError)"))
        lines += [f"except {kind}:", *self.inner(names, depth)]
        if self.rng.random() < 0.3:
            lines += ["finally:", *self.inner(names, depth)]
        return lines

    def def_(self, names: dict[str, object], depth: int) -> list[str]:
        """A function that is called at once, with variables of its own or those around it."""
        kept = self.filled("$w", names)
        lines = ["def inner(e):", *self.inner(names, depth, e=names["x"])]
        if depth == 0 and self.rng.random() < 0.3 and kept not in {"x", "y"}:
            lines = ["def inner(e):", f"    nonlocal {kept}", f"    {kept} = {kept} + 1"]
        lines.append(f"    return {self.rng.choice(('e', 'e * 2', f'({kept}, e)'))}")
        return [*lines, f"{next(self.fresh)} = inner({self.filled('$t', names)})"]

    def condition(self, names: dict[str, object]) -> str:
        """A condition; on data in some programs alone."""
        tables = [drawn_from.ON_SIZES, drawn_from.ON_SIZES, drawn_from.ON_OTHERS]
        if self.has_data:
            tables += [drawn_from.ON_DATA] * 3
        return self.filled(self.rng.choice(self.rng.choice(tables)), names)

    # --- holes ---------------------------------------------------------------------------------

    def filled(self, template: str, names: dict[str, object]) -> str:
        """Fill in what fits; a hole that occurs twice is one name where it is new or a variable."""
        found: dict[str, str] = {}

        def fill(hole: re.Match) -> str:
            kind = hole.group(1)
            if kind in "vwLdot" and hole.group() in found:
                return found[hole.group()]
            text = self.hole(kind, names, found)
            found[hole.group()] = text
            return text

        return HOLE.sub(fill, template)

    def hole(self, kind: str, names: dict[str, object], found: dict[str, str]) -> str:
        """What stands in one hole."""
        rng = self.rng
        match kind:
            case "v":
                return next(self.fresh)
            case "k":
                return str(rng.randint(1, 3))
            case "c":
                return f"({self.condition(names)})"
            case "z":
                return self.filled(rng.choice(drawn_from.SIZES), names)
            case "D":
                return self.filled(rng.choice(drawn_from.NUMBERS_OF_DATA), names)
            case "n" | "f" | "q":
                return self.plain(kind, names)
            case "u":
                alike = self.alike(found.get("$t", found.get("$m", "x")), names)
                return rng.choice(alike or ["x"])
        fitting = [text for text, value in reached(names) if fits(kind, value, text)]
        recent = fitting[-4:]
        return rng.choice(rng.choice((fitting, recent))) if fitting else MISSING[kind]

    def plain(self, kind: str, names: dict[str, object]) -> str:
        """A number or a text: a variable, or a literal."""
        rng = self.rng
        wanted = {"n": int, "f": (int, float), "q": str}[kind]
        held = [name for name, value in names.items() if isinstance(value, wanted)]
        if held and rng.random() < 0.6:
            return rng.choice(held)
        if kind == "n" and rng.random() < 0.4:
            return self.hole("z", names, {})
        return rng.choice(LITERALS[kind])

    def alike(self, text: str, names: dict[str, object]) -> list[str]:
        """What has the shape of a tensor, or any floating tensor."""
        tensors = [(each, value) for each, value in reached(names) if fits("t", value, each)]
        shape = next((value.shape for each, value in tensors if each == text), None)
        same = [each for each, value in tensors if value.shape == shape]
        return same if same and self.rng.random() < 0.8 else [each for each, _ in tensors]

    # --- results -------------------------------------------------------------------------------

    def result(self) -> str:
        """All tensors that variables hold, some other values, and some of them twice or nested."""
        rng = self.rng
        kept = []
        for name, value in self.names.items():
            if name in {"self", "k"}:
                continue
            if (isinstance(value, Tensor) and (name not in {"x", "y"} or rng.random() < 0.3)) or (
                isinstance(value, RETURNED) and rng.random() < 0.6
            ):
                kept.append(name)
            elif hasattr(value, "t") and isinstance(value.t, Tensor):
                kept.append(f"{name}.t")
        if not kept:
            kept = ["x + 1"]
        if rng.random() < 0.25:
            kept.append(rng.choice(kept))
        if rng.random() < 0.15:
            kept.append(self.filled(rng.choice(drawn_from.VIEWS), {"x": self.names["x"]}))
        if rng.random() < 0.15:
            half = len(kept) // 2
            inner = ", ".join(f"'r{at}': {name}" for at, name in enumerate(kept[half:]))
            kept = [*kept[:half], f"{{{inner}}}"]
        if len(kept) == 1 and rng.random() < 0.5:
            return f"return {kept[0]}"
        return f"return {', '.join(kept)}" + ("," if len(kept) == 1 else "")


LITERALS = {"n": ("1", "2", "3"), "f": ("0.5", "2.0", "3", "-1.0"), "q": ("'a'", "'3'")}
MISSING = {**dict.fromkeys("tmMaw", "x"), "L": "[x, y]", "d": "{'a': x}", "o": "Box(x)"}
"""What stands in a hole that no variable fits."""

RETURNED = (bool, int, float, str, list, tuple, dict, types.NoneType, torch.dtype, torch.device)


def reached(names: dict[str, object]) -> Iterator[tuple[str, object]]:
    """Variables, and what the containers among them hold."""
    for name, value in names.items():
        yield name, value
        if isinstance(value, list | tuple) and value and not isinstance(value, torch.Size):
            yield f"{name}[0]", value[0]
        elif type(value) is dict:
            for key, held in value.items():
                if isinstance(key, str):
                    yield f"{name}[{key!r}]", held
        elif hasattr(value, "t") and not isinstance(value, Tensor):
            with contextlib.suppress(Exception):
                yield f"{name}.t", value.t


def fits(kind: str, value: object, text: str) -> bool:
    """Whether a value can stand in such a hole."""
    if kind == "L":
        return type(value) is list and bool(value) and all(isinstance(e, Tensor) for e in value)
    if kind == "d":
        return type(value) is dict and isinstance(value.get("a"), Tensor)
    if kind == "o":
        return type(value).__name__ in {"Box", "SimpleNamespace", "Chain"}
    if not isinstance(value, Tensor):
        return False
    if kind == "a":
        return True
    is_floating = value.is_floating_point()
    if kind == "w":
        return is_floating and text.isidentifier()
    return is_floating and value.dim() >= {"t": 0, "m": 1, "M": 2}[kind]
