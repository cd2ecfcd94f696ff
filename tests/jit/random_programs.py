"""Random programs with prints and mutations: text of Python, drawn from a seed."""

import random
import types

import torch

HEAD = """
class Box:
    def __init__(self, n):
        self.n = n
        self.items = [n]

    def step(self, x):
        self.n += 1
        return x * self.n

    @property
    def total(self):
        return sum(self.items)


def make():
    kept, table, box = [], {"a": 1}, Box(1)
    count = 0

"""


class Writer:
    """Draws the statements of one function."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.tensors, self.numbers, self.depth = ["x"], ["2"], 0
        self.lists, self.fresh = ["kept"], 0

    def name(self, kind):
        """A new variable."""
        self.fresh += 1
        return f"{kind}{self.fresh}"

    def tensor(self):
        """An expression of a tensor."""
        t, u = self.draw.choice(self.tensors), self.draw.choice(self.tensors)
        n = self.draw.choice(self.numbers)
        return self.draw.choice(
            [
                *(f"{t} * {n}", f"{t} + {u}", f"torch.relu({t} - {n})", f"{t}.abs() / 3"),
                *(f"{t}[:1] + {u}", f"({t} if {n} > 2 else {u})", f"help_one({t}, {n})"),
                *(f"{t}.clone().mul_({n})", f"box.step({t})", f"torch.stack([{t}, {u}]).mean(0)"),
                *(f"help_two({t}, k={n})", f"sum(p for p in [{t}, {u}])", f"{t}.detach()"),
            ]
        )

    def number(self):
        """An expression of a number."""
        t, kept = self.draw.choice(self.tensors), self.draw.choice(self.lists)
        n = self.draw.choice(self.numbers)
        return self.draw.choice(
            [
                *(f"{t}.shape[0] + {n} % 5", f"len({kept})", "box.n % 7", "table['a']", "count"),
                *(f"int({t}.sum().item()) % 4", f"{n} % 3 + 1", "box.total % 5", f"{t}.dim()"),
                *("(box.items[-1] % 3)", f"max({n} % 4, 1)", "len(table)"),
            ]
        )

    def body(self, indent):
        """A few statements."""
        pad = "    " * indent
        return [
            line for _ in range(self.draw.randint(2, 5)) for line in self.statement(pad, indent)
        ]

    def block(self, indent):
        """A nested block, whose variables are its own."""
        saved = self.tensors[:], self.numbers[:], self.lists[:]
        lines = self.body(indent)
        self.tensors, self.numbers, self.lists = saved
        return lines

    def statement(self, pad, indent):  # noqa: C901 - one way per kind of statement
        """One statement."""
        t, n = self.tensor(), self.number()
        kept = self.draw.choice(self.lists)
        kinds = ["tensor", "tensor", "number", "print", "append", "dict", "box", "count", "list"]
        kinds += ["again", "swap", "cell", "opaque", "opaque", "pop"]
        if indent < 4:
            kinds += ["if", "for", "data", "try", "while", "with"]
        kind = self.draw.choice(kinds)
        if kind == "tensor":
            name = self.name("t")
            self.tensors.append(name)
            return [f"{pad}{name} = {t}"]
        if kind == "number":
            name = self.name("n")
            self.numbers.append(name)
            return [f"{pad}{name} = {n}"]
        if kind == "list":
            name = self.name("l")
            self.lists.append(name)
            return [f"{pad}{name} = [i for i in range({n} % 3)]"]
        if kind == "if":
            return [
                f"{pad}if {n} % 2:",
                *self.block(indent + 1),
                f"{pad}else:",
                *self.block(indent + 1),
            ]
        if kind == "data":
            return [f"{pad}if ({t}).sum() > 0:", *self.block(indent + 1)]
        if kind == "for":
            name = self.name("i")
            over = self.draw.choice([f"range({n} % 3)", f"list({kept})[:2]", "enumerate('ab')"])
            head = f"{pad}for {name} in {over}:"
            return [head, *self.block(indent + 1)]
        if kind == "while":
            name = self.name("w")
            return [
                f"{pad}{name} = 0",
                f"{pad}while {name} < {n} % 3:",
                f"{pad}    {name} += 1",
                *self.block(indent + 1),
            ]
        if kind == "try":
            wrong = self.draw.choice(
                ["table['missing']", "raise_one(x)", "[][3]", "1 // 0", "None"]
            )
            return [
                f"{pad}try:",
                *self.block(indent + 1),
                f"{pad}    {wrong}",
                f"{pad}except (KeyError, ValueError, IndexError, ZeroDivisionError) as error:",
                f"{pad}    kept.append(type(error).__name__)",
                *([f"{pad}finally:", f"{pad}    print('f')"] if self.draw.random() < 0.3 else []),
            ]
        if kind == "with":
            return [f"{pad}with torch.no_grad():", *self.block(indent + 1)]
        return {
            "print": [f"{pad}print({n}, {kept}[-1:], round(float(({t}).sum()), 2))"],
            "opaque": [f"{pad}time.sleep(0)"],
            "pop": [f"{pad}{kept}[-1:] = [{n} % 4] + {kept}[:1]", f"{pad}{kept} and {kept}.pop(0)"],
            "append": [f"{pad}{kept}.append({n})"],
            "dict": [f"{pad}table[{self.draw.choice('abc')!r}] = {n}"],
            "box": [f"{pad}box.n = {n}", f"{pad}box.items.append({n} % 3)"],
            "count": [f"{pad}count = (count + 1) % 3"],
            "again": [f"{pad}x = {t}"],
            "swap": [f"{pad}box.items = {kept}[:2] or [1]"],
            "cell": [f"{pad}x = (lambda y, k={n}: y * k + count)({t})"],
        }[kind]


def source_of(seed):
    """The text of a module with one program."""
    writer = Writer(seed)
    body = writer.body(2)
    result = f"        return {writer.tensor()}, x, list(table.items())"
    lines = [
        "    def help_one(y, n):",
        "        kept.append(n)" if seed % 3 == 0 else "        n = n + 1",
        "        return y - n",
        "    def help_two(y, *, k=1):",
        "        print('two', k)" if seed % 4 == 0 else "        pass",
        "        return y * k",
        "    def raise_one(y):",
        "        raise ValueError('one')",
        "    def f(x):",
        "        nonlocal count",
        *body,
        result,
    ]
    tail = (
        "    return f, lambda: (list(map(str, kept)), dict(table), box.n, list(box.items), count)\n"
    )
    return "import time\nimport torch\n" + HEAD + "\n".join(lines) + "\n" + tail


def program_of(seed):
    """Make a program as `running.run` takes them."""

    def make():
        module = types.ModuleType(f"random_{seed}")
        exec(compile(source_of(seed), f"random_{seed}.py", "exec"), vars(module))
        f, state = vars(module)["make"]()
        sizes = (3, 3, 2, 3, 1, 3)
        signs = (1, 1, -1, 1, 1, -1)
        calls = [
            ((torch.rand(n, 2) * s).requires_grad_(seed % 2 == 0),)
            for n, s in zip(sizes, signs, strict=True)
        ]
        return f, calls, state

    return make
