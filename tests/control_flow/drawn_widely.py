"""Random programs whose branches and loops do all that Python lets them do to what is around them.

A program is a module's forward over two tensors. Its blocks write to lists, dicts, attributes,
closures, tensors and views of them, call methods and functions that branch, leave early, raise, and
enter modes of PyTorch; what they made is returned, aliases included. All follows from one number,
and each program has a few of the features alone, so that these meet often.
"""

import collections
import enum
import functools
import random
from dataclasses import dataclass

import torch

from tests.contract.registry import Call, Probe
from tests.seeding import reseed
from tests.sizes.programs.registry import compiled

SAME = (
    "{a} + {b}", "{a} * {i}", "torch.tanh({a}) - {f}", "{a}", "{a}", "{a}.clone()", "{a}.abs()",
    "torch.where({a} > 0, {a}, {b})", "{a} * 2", "-{a}", "{a} + {b}.sum()", "{a} / 2", "{a} * 1",
    "{a} * self.w", "{a} + self.b", "{a}.detach()", "{a}.view(-1)", "{a}.contiguous()",
    "{a}.to({b}.dtype)", "self.f({a})", "self.g({a})", "{a}.flip(0)", "{a}[:]",
    "torch.zeros_like({a})", "{a}.masked_fill({a} > 1, 0.5)", "{a}.cumsum(0)",
    "{a} if {cond} else {b}", "{a} * (2 if {cond} else {i})", "({cond}) * {a}",
)  # fmt: skip
OTHER = (
    "{a}.double()", "{a}[:2]", "{a}[1:]", "{a}.sum()", "{a}.mean()", "torch.cat([{a}, {b}])",
    "{a}[{a} > 0]", "{a} > 0", "{a}.int()", "{a}[None].expand(2, -1)", "torch.stack([{a}, {b}])",
    "{a}.unsqueeze(0)", "{a}[::2]", "{a}.nonzero()", "torch.zeros({i})", "{a}.max()",
)  # fmt: skip
CONDITIONS = (
    "{a}.sum() > {f}", "{a}.sum() > {i}", "{a}.mean().item() < {f}", "({a} > 0).all()",
    "{a}.max() > 1", "torch.isnan({a}).any()", "not {a}.sum() > 1", "{a}.sum() < {b}.sum()",
    "({a} > 0).sum().item() > {i}", "0 < {a}.sum() < 3", "{a}.any()", "bool({a}.sum() > 0)",
    "{a}.sum().item()", "torch.equal({a}, {b})", "{a}.sum() > 0 and {b}.sum() < 1",
    "{a}.sum() > 1 or {b}.sum() > 0", "int({a}.sum().item()) % 2 == 0", "{a}.min() > -{f}",
)  # fmt: skip
PLAIN = (
    "{i} > 1", "{i} < {j}", "flag", "not flag", "t == 'p'", "len(xs) > 1", "'u' in d", "o.n > 1",
    "opt is None", "opt is not None", "isinstance({i}, int)", "xs", "{f} > 0.5", "{a} is {b}",
    "{a} is not {b}", "{a} is xs[0]", "o.t is {a}", "{a}.shape[0] > 1", "len({a}) == 3",
    "{a}.requires_grad", "{i} == 1", "{i} in (1, 2)", "p[1] == 1", "d.get('u') is None",
    "ys is xs", "{a}.dim() == 1", "{i} in seen", "type({i}) is bool", "{a}.dtype == {b}.dtype",
    "{a}.is_contiguous()", "any(e is {a} for e in xs)", "hasattr(o, 'extra')", "self.training",
)  # fmt: skip
LISTS = (
    "xs.append({a})", "xs[-1] = {a}", "xs.insert(0, {a})", "xs += [{a}]", "xs.extend([{a}, {b}])",
    "xs.reverse()", "xs = xs + [{a}]", "xs = [{a}, {b}]", "xs[0] = xs[-1]", "ys = xs",
    "ys = list(xs)", "ys.append({a})", "xs[0], xs[-1] = xs[-1], xs[0]", "{a} = xs[0]",
    "{a} = xs[-1]", "xs[0].add_(1)", "{a} = sum(xs)", "{a} = torch.stack(xs).sum(0)", "i = len(xs)",
    "{a} = xs.pop(); xs.append({a})", "xs.append(xs.pop(0))", "xs[:1] = [{a}]", "xs.pop()",
    "{a} = xs.pop()", "del xs[1:]", "xs, ys = ys, xs", "xs = ys = [{a}]", "xs[0] *= 2",
    "xs = [e * 2 for e in xs]", "{a}, *rest = xs", "xs.clear(); xs.append({a})",
)  # fmt: skip
DICTS = (
    "d['u'] = {a}", "d['v'] = {a}", "d.update(u={a}, v={b})", "d.pop('u', None)",
    "{a} = d['v']", "{a} = d.get('u', {b})", "d.setdefault('u', {a})", "d = {{'v': {a}}}",
    "d['v'].add_(1)", "d = dict(d, v={a})", "d['v'] *= 2", "d['n'] = {i}",
    "d['v'], {a} = {a}, d['v']", "{a} = sum(e for e in d.values() if torch.is_tensor(e))",
    "d |= {{'v': {a}}}", "e2 = d; e2['v'] = {a}", "d[{i}] = {a}",
    "d['u'] = d.pop('v'); d['v'] = {a}",
)  # fmt: skip
OBJECTS = (
    "o.t = {a}", "o.n += 1", "{a} = o.t", "o.t.add_(1)", "setattr(o, 't', {a})", "o = Box({a})",
    "o.t = o.t + 1", "{a} = o.twice()", "o.put({a})", "o.n = {i}", "q = o; q.t = {a}", "i = o.n",
    "o.both = (o.t, {a})", "o.extra = {a}", "o.t, {a} = {a}, o.t", "o.kept.append({a})",
    "o.n = {f}", "o.twin = o", "{a} = getattr(o, 'extra', {b})", "o.t *= 2", "o = Box(o.t)",
)  # fmt: skip
WRITES = (
    "{a}.add_({i})", "{a} += {b}", "{a}[0] = 7", "{a}[:2].mul_(3)", "{a}.copy_({b})", "{a}.zero_()",
    "{a}.view(-1).sub_(1)", "v = {a}[1:]", "v = {a}[:2]", "v.add_(1)", "v = {a}.view(-1)",
    "{a}[{a} > 1] = 0", "torch.add({a}, 1, out={a})", "{a}.masked_fill_({a} > 0, 2)", "{a} *= 2",
    "{a}.detach().add_(1)", "{a}[{i}:] += 1", "v = {a}; v.mul_(2)", "{a}.data.add_(1)",
)  # fmt: skip
BUFFERS = (
    "self.b.add_(1)", "self.b = self.b + 1", "self.b.copy_({a}.sum())", "self.b[0] = {i}",
    "self.b.mul_(0.5)", "{a} = self.b + {a}", "self.b = {a}.sum()[None].detach()", "old = self.b",
    "{a} = old + {a}", "self.b += {a}.detach().mean()", "{a} = self.b * {b}",
)  # fmt: skip
NUMBERS = (
    "i = i + 1", "j = j * 2 - i", "f = f * 0.5", "i, j = j, i", "i = 2", "i = True", "i = 1.5",
    "f = {a}.sum().item()", "i = int({a}.sum().clamp(0, 4).item())", "j = ({a} > 0).sum().item()",
    "i = {a}.shape[0]", "f = float(i)", "i = max(i, j)", "i = abs(j)", "j = i // 2", "f = -f",
    "flag = not flag", "flag = {cond}", "flag = bool({cond})", "t = 'q'", "t = 'p'", "t += 'x'",
    "i = -i", "i = len({a})", "f = f if {cond} else 2.0", "i = 3 if {cond} else 4", "j = round(f)",
    "f = min(f, {a}.max().item())", "i += {cond_bool}", "f = 0.0", "f = -0.0", "i = i % 3",
    "f = f / 2 + i", "f = float('nan')", "i = i & 1", "i = i == 1", "f = i / 2",
)  # fmt: skip
OPTIONS = (
    "opt = None", "opt = {a}", "opt = {a} * 2", "{a} = {b} if opt is None else opt",
    "if opt is not None: {a} = {a} + opt", "opt = opt if {cond} else None", "p = ({a}, i)",
    "p = ({a}, 1)", "p = Pair({a}, {b})", "{a} = p[0]", "p = (p[0], p[1], {a})", "p = [*p]",
    "h = self.f", "h = self.g", "{a} = h({a})", "h = self.f if {cond} else self.g",
    "h = torch.tanh", "h = lambda e: e * i", "opt = i", "if opt is None: opt = {a}",
    "seen.add(i)", "seen = {{i, j}}", "seen.discard(1)", "kind = Kind.ONE", "kind = Kind.TWO",
    "{a} = {a} * (2 if kind is Kind.ONE else 3)", "kind = Kind(1 if {cond} else 2)",
    "p = ({a}, {b}) if {cond} else ({b}, {a})", "new = {a}", "{a} = {a} + new", "del new",
)  # fmt: skip
CALLS = (
    "{a} = self.step({a}, {b})", "{a} = inner({a})", "inner({a})", "{a}, i = self.pair({a}, i)",
    "self.fill(xs, {a})", "self.touch(o, {a})", "{a} = self.early({a})", "{a} = outer({a}, i)",
    "{a} = self.step(self.early({a}), {b})",
    "{a} = (lambda e: e + 1 if {cond} else e)({a})",
)  # fmt: skip
ITERATED = (
    "{a} = sum(e.mean() for e in xs) + {b}", "xs = [e * 2 for e in xs if e.sum() > 0] or [{a}]",
    "{a} = next((e for e in xs if e.sum() > 0), {b})", "i = sum(1 for e in xs if e.sum() > 0)",
    "flag = any(e.sum() > 1 for e in xs)", "flag = all(e.sum() > 1 for e in xs)",
    "{a} = max(xs, key=lambda e: e.sum().item())", "xs = sorted(xs, key=lambda e: e.sum().item())",
    "xs = [e if e.sum() > 0 else -e for e in xs]", "{a} = sum(self.several({a}))",
    "for e in self.several({a}): {b} = {b} + e", "xs = [*map(self.early, xs)]",
    "d = {{k: e * 2 if {cond} else e for k, e in d.items()}}",
    "xs = list(filter(lambda e: e.sum() > 0, xs))", "{a} = functools.reduce(torch.add, xs)",
    "xs = [self.step(e, {a}) for e in xs]", "i = [e.sum().item() > 0 for e in xs].count(True)",
)  # fmt: skip
KINDS = {
    "lists": LISTS,
    "dicts": DICTS,
    "objects": OBJECTS,
    "writes": WRITES,
    "buffers": BUFFERS,
    "numbers": NUMBERS,
    "options": OPTIONS,
    "calls": CALLS,
    "iterated": ITERATED,
}
BLOCKS = ("while", "for", "try", "modes", "leave", "raise", "identity", "other")
RESULTS = (
    "a", "b", "c", "i", "f", "xs", "d", "o.t", "p", "flag", "j", "(a, c)", "{'r': c, 's': [a]}",
    "xs[0]", "o.n", "a[:1]", "c.view(-1)", "opt", "v", "t", "xs + [a]", "kind is Kind.ONE",
    "self.b",
    "a is c", "xs is ys", "len(xs)", "sorted(d)", "c.requires_grad", "len(seen)", "ys",
)  # fmt: skip
HEAD = """\
class Box:
    def __init__(self, t):
        self.t = t
        self.n = 1
        self.kept = []

    def twice(self):
        return self.t * 2 if self.t.sum() > 0 else self.t

    def put(self, t):
        if t.sum() > self.n:
            self.t = t


Pair = collections.namedtuple("Pair", "left right")
Kind = enum.Enum("Kind", "ONE TWO")


class drawn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((1,), 1.5))
        self.register_buffer("b", torch.ones(1))
        self.f, self.g = torch.nn.Tanh(), torch.nn.ReLU()

    def several(self, x):
        yield x
        if x.sum() > 0:
            yield x * 2
        yield -x
"""
METHODS = {
    "step(self, a, b)": ("a", "b", "return a"),
    "early(self, a)": ("a", "a", "return a"),
    "pair(self, a, i)": ("a", "a", "return a, i"),
    "fill(self, xs, a)": ("a", "a", "xs.append(a)"),
    "touch(self, o, a)": ("a", "a", "o.t = a"),
}
START = """\
        c = a + b
        i, j, f, flag, t, opt, kind, h = 1, 2, 0.5, True, "p", None, Kind.ONE, self.f
        xs, d, o, p, seen, v = [c, a * 2], {"v": c}, Box(c), (a, 1), {5}, c
        ys, old, new = xs, self.b, b
"""
INDENT = "    "


class Writer:
    """Writes one program; `names` are the tensors that lines are about."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.budget = rng.randint(3, 9)
        self.n_loops = 0
        self.kinds = rng.sample(sorted(KINDS), rng.randint(1, 3))
        self.blocks = rng.sample(BLOCKS, rng.randint(1, 4))
        self.names = ("a", "b", "c")
        self.result = "a, c"

    def program(self) -> str:
        """Write the module."""
        methods = [self.method(*each) for each in METHODS.items()]
        self.lines = ["    def forward(self, a, b):", *START.splitlines()]
        if "calls" in self.kinds:
            self.functions()
        picked = self.rng.sample(RESULTS, self.rng.randint(1, 4))
        self.result = ", ".join(["a", *picked])
        self.budget = self.rng.randint(3, 9)
        self.block(2, in_loop=False)
        self.add(2, f"return {self.result}")
        return "\n".join([HEAD, *methods, *self.lines]) + "\n"

    def method(self, signature: str, parts: tuple[str, str, str]) -> str:
        """Write a method with a branch or two."""
        *names, last = parts
        inner = Writer(self.rng)
        inner.names = tuple(names)
        inner.kinds, inner.blocks = [], ["leave"]
        inner.budget = self.rng.randint(1, 3) if "calls" in self.kinds else 1
        inner.result = last.removeprefix("return ") if last.startswith("return") else "None"
        inner.lines = [f"    def {signature}:"]
        inner.block(2, in_loop=False)
        inner.add(2, last)
        return "\n".join([*inner.lines, ""])

    def functions(self) -> None:
        """Write two functions inside: one changes variables around it, one has its own."""
        self.add(2, "def inner(e):")
        self.add(3, "nonlocal c, i")
        self.add(3, f"if {self.condition()}:")
        self.add(4, self.rng.choice(["c = c + e", "c = e", "i = i + 1", "i += 1; c = -c"]))
        if self.rng.random() < 0.4:
            self.add(4, "return e")
        self.add(3, "return c * i")
        self.add(2, "def outer(e, n):")
        self.add(3, "kept = [e]")
        self.add(3, "def put(): kept.append(kept[-1] + n)")
        self.add(3, f"if {self.condition()}: put()")
        if self.rng.random() < 0.5:
            self.add(3, "else: kept.append(e)")
        self.add(3, "return kept[-1]")

    def add(self, depth: int, text: str) -> None:
        """Write a line."""
        self.lines.append(INDENT * depth + text)

    def block(self, depth: int, *, in_loop: bool, least: int = 1) -> None:
        """Write one to three statements."""
        begun = len(self.lines)
        for _ in range(self.rng.randint(least, 3)):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(depth, in_loop=in_loop)
        if len(self.lines) == begun:
            self.add(depth, self.line())

    def statement(self, depth: int, *, in_loop: bool) -> None:
        """Write one statement, perhaps with blocks in it."""
        choices = ["line"] * 4 + ["if"] * (4 if depth < 5 else 0)
        choices += [each for each in self.blocks if depth < 4 or each in {"leave", "raise"}]
        kind = self.rng.choice(choices)
        if kind in {"line", "other", "identity"}:
            self.add(depth, self.line(kind))
            return
        getattr(self, f"{kind}_")(depth, in_loop)

    def line(self, kind: str = "line") -> str:
        """A statement without blocks."""
        rng = self.rng
        if kind == "other":
            return self.filled(f"{rng.choice(self.names)} = {rng.choice(OTHER)}")
        if self.kinds and rng.random() < 0.65:
            return self.filled(rng.choice(KINDS[rng.choice(self.kinds)]))
        return self.filled(f"{rng.choice(self.names)} = {rng.choice(SAME)}")

    def filled(self, template: str) -> str:
        """Fill in names."""
        rng = self.rng
        if "{cond" in template:
            text = f"({self.condition()})"
            template = template.replace("{cond_bool}", f"bool{text}").replace("{cond}", text)
        a, b = rng.choice(self.names), rng.choice(self.names)
        is_method = "c" not in self.names
        i, j, f = ("2", "3", "0.5") if is_method else ("i", "j", "f")
        i = rng.choice([i, "1", "2"])
        f = rng.choice([f, "0", "0.5"])
        return (
            template.replace("{{", "{")
            .replace("}}", "}")
            .replace("{a}", a)
            .replace("{b}", b)
            .replace("{i}", i)
            .replace("{j}", j)
            .replace("{f}", f)
        )

    def condition(self) -> str:
        """A condition, mostly on data."""
        is_method = "c" not in self.names
        kinds = [CONDITIONS] * 5 + ([] if is_method else [PLAIN])
        if "identity" in self.blocks and not is_method:
            kinds += [PLAIN] * 2
        return self.filled(self.rng.choice(self.rng.choice(kinds)))

    # --- statements with blocks ----------------------------------------------------------------

    def if_(self, depth: int, in_loop: bool) -> None:
        """Branch."""
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop=in_loop)
        if self.rng.random() < 0.15:
            self.add(depth, f"elif {self.condition()}:")
            self.block(depth + 1, in_loop=in_loop)
        if self.rng.random() < 0.5:
            self.add(depth, "else:")
            self.block(depth + 1, in_loop=in_loop)

    def while_(self, depth: int, _: bool) -> None:
        """Loop for at most a few rounds."""
        if self.n_loops > 2:
            self.add(depth, self.line())
            return
        self.n_loops += 1
        k = f"k{self.n_loops}"
        zero, step = self.rng.choice([("torch.zeros(())", "1"), ("0", "1"), ("0.0", "0.7")])
        self.add(depth, f"{k} = {zero}")
        bound = self.filled(f"{self.rng.randint(1, 4)} + {{a}}.sum().nan_to_num().clamp(-2, 1)")
        if self.rng.random() < 0.3:
            self.add(depth, "while True:")
            self.add(depth + 1, f"{k} = {k} + {step}")
            self.add(depth + 1, f"if {k} >= {bound}:")
            self.add(depth + 2, "break")
            self.block(depth + 1, in_loop=True)
            return
        extra = f" and ({self.condition()})" if self.rng.random() < 0.3 else ""
        self.add(depth, f"while {k} < {bound}{extra}:")
        self.add(depth + 1, f"{k} = {k} + {step}")
        self.block(depth + 1, in_loop=True)
        if self.rng.random() < 0.15:
            self.add(depth, "else:")
            self.block(depth + 1, in_loop=False)

    def for_(self, depth: int, _: bool) -> None:
        """Loop over what is known, over a size, or over as many as data say."""
        over = self.rng.choice(
            [
                f"k in range({self.rng.randint(1, 3)})", "e in xs[:2]", "k in range({a}.shape[0])",
                "row in {a}", "k in range(int({a}.sum().clamp(0, 3).item()))", "e in list(xs)",
                "k, e in enumerate(xs[:])", "e, k in zip(xs, (1, 2))", "k in range(j)",
                "row in {a}.unbind(0)",
            ]
        )  # fmt: skip
        if "c" not in self.names:
            over = "k in range(2)"
        self.add(depth, f"for {self.filled(over)}:")
        if "row" in over:
            self.add(depth + 1, self.filled("{a} = {a} + row"))
        elif "e" in over.partition(" in ")[0]:
            self.add(
                depth + 1, self.filled(self.rng.choice(["{a} = {a} + e", "e.add_(1)", "o.t = e"]))
            )
        elif self.rng.random() < 0.5:
            self.add(depth + 1, self.filled("{a} = {a} + k"))
        self.block(depth + 1, in_loop=True)
        if self.rng.random() < 0.15:
            self.add(depth, "else:")
            self.block(depth + 1, in_loop=False)

    def leave_(self, depth: int, in_loop: bool) -> None:
        """Leave a round, a loop, or the function."""
        self.add(depth, f"if {self.condition()}:")
        ways = ["break", "continue"] * 2 if in_loop else []
        ways.append(f"return {self.result}")
        if self.budget and self.rng.random() < 0.4:
            self.budget -= 1
            self.add(depth + 1, self.line())
        self.add(depth + 1, self.rng.choice(ways))

    def raise_(self, depth: int, _: bool) -> None:
        """Raise, or assert."""
        text = self.filled("torch.isnan({a}).any() or {a}.sum() > 20")
        if self.rng.random() < 0.5:
            self.add(depth, f"assert not ({text}), 'words'")
            return
        self.add(depth, f"if {text}:")
        self.add(depth + 1, "raise ValueError('words')")

    def try_(self, depth: int, in_loop: bool) -> None:
        """Catch, or do something in any case."""
        self.add(depth, "try:")
        self.block(depth + 1, in_loop=in_loop)
        if self.rng.random() < 0.5:
            self.add(depth, "finally:")
            self.add(depth + 1, self.line())
            return
        if self.rng.random() < 0.5:
            self.add(depth + 1, f"if {self.condition()}: raise ValueError('words')")
        self.add(depth, "except ValueError:")
        self.block(depth + 1, in_loop=in_loop)

    def modes_(self, depth: int, in_loop: bool) -> None:
        """Enter a mode of PyTorch."""
        mode = self.rng.choice(
            ["torch.no_grad()", "torch.enable_grad()", "torch.autocast('cpu', torch.bfloat16)"]
        )
        self.add(depth, f"with {mode}:")
        self.block(depth + 1, in_loop=in_loop)
        if "autocast" in mode:
            self.add(depth + 1, self.filled("c = (c[None] @ c[:, None])[0].float() + {a}"))


@dataclass(frozen=True, slots=True)
class Inputs:
    """How the inputs of one call are made."""

    size: int = 3
    scale: float = 1.0
    kind: str = "random"
    grad: bool = False

    def make(self) -> tuple:
        """Make them; the seed is the caller's."""
        a, b = torch.randn(self.size) * self.scale, torch.randn(self.size) * self.scale
        if self.kind == "nan" and self.size:
            a[0] = float("nan")
        if self.kind == "up":
            a, b = a.abs(), b.abs()
        if self.kind == "down":
            a, b = -a.abs(), -b.abs()
        if self.kind == "apart":
            a, b = a.abs(), -b.abs()
        if self.kind == "zero":
            a, b = torch.zeros_like(a), torch.zeros_like(b)
        if self.grad:
            a.requires_grad_()
            a = a * 1  # leaves may not be written to
            b.requires_grad_()
            b = b * 1
        return a, b


KINDS_OF_INPUTS = ("random", "up", "down", "apart", "nan", "zero", "random", "random")


def drawn(number: int) -> tuple[Probe, str]:
    """A program, its example and its calls; and its source, to be shown."""
    rng = random.Random(number)
    dynamic, grad = rng.random() < 0.4, rng.random() < 0.3
    seeds = [rng.randrange(1 << 30) for _ in range(9)]
    sizes = (3, 3, 2, 5, 3, 4, 1, 0) if dynamic else (3,) * 8
    example = Inputs(3, 1.0, rng.choice(KINDS_OF_INPUTS[:4]), grad)
    source = _running(rng, example)
    others = {
        f"call {at}": Inputs(size, rng.choice([0.5, 1.0, 3.0]), kind, grad)
        for at, (size, kind) in enumerate(zip(sizes, KINDS_OF_INPUTS, strict=True))
    }
    calls = zip(others.items(), seeds, strict=False)
    probe = Probe(
        "drawn",
        "data",
        lambda: compiled("drawn", source, names_of_the_module()),
        _call(example, seeds[-1]),
        {
            name: _call(each, seed)
            for (name, each), seed in zip(others.items(), seeds, strict=False)
        },
        shapes=(lambda dim: ({0: dim.AUTO}, {0: dim.AUTO})) if dynamic else None,
    )
    told = "\n".join([source[len(HEAD) :], f"number: {number}, dynamic: {dynamic}, grad: {grad}"])
    return probe, "\n".join(
        [told, f"example: {example}", *(f"{n}: {e}" for n, e in others.items())]
    )


def _running(rng: random.Random, example: Inputs) -> str:
    """A program that runs at some inputs like the example."""
    while True:
        source = Writer(rng).program()
        for seed in range(3):
            try:
                module = compiled("drawn", source, names_of_the_module())
                reseed(seed)
                module(*example.make())
            except Exception:  # noqa: BLE001 - it is the program's
                continue
            return source


def _call(inputs: Inputs, seed: int) -> Call:
    def make() -> tuple:
        reseed(seed)
        return inputs.make()

    return Call(make, times=2)


def names_of_the_module() -> dict:
    """What the programs can call."""
    return {"torch": torch, "collections": collections, "enum": enum, "functools": functools}
