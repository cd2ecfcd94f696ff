"""Random programs with branches and loops on data, as source text, one for each seed."""

import random


class _Writer:
    """Writes statements over the tensors a, b, c, the ints n, m and the float s."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.budget = self.draw.randint(6, 16)
        self.n_loops = 0

    def program(self) -> str:
        """Write a function of two tensors."""
        self.lines = [
            "def forward(self, a, b):",
            "    c = a + b",
            "    n, m, s = 1, 2, 0.5",
        ]
        self.block(1, in_loop=False)
        self.lines.append("    return a, b, c, n, m, s")
        return "\n".join(self.lines) + "\n"

    def block(self, depth: int, *, in_loop: bool) -> None:
        """Write one to four statements."""
        for _ in range(self.draw.randint(1, 4)):
            if self.budget <= 0:
                break
            self.budget -= 1
            self.statement(depth, in_loop=in_loop)
        if not self.lines[-1].startswith("    " * depth) or self.lines[-1].endswith(":"):
            self.add(depth, "pass")

    def statement(self, depth: int, *, in_loop: bool) -> None:
        """Write one statement, perhaps with a block in it."""
        kinds = ["tensor"] * 4 + ["number"] * 2 + ["if"] * (3 if depth < 4 else 0)
        kinds += ["while"] if depth < 3 and self.n_loops < 2 else []
        kinds += ["for"] if depth < 3 else []
        kinds += ["leave"] if in_loop else []
        kinds += ["in place", "swap"]
        kinds += ["return"] if depth > 1 else []
        kind = self.draw.choice(kinds)
        getattr(self, kind.replace(" ", "_") + "_")(depth, in_loop)

    def add(self, depth: int, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * depth + text)

    def tensor(self) -> str:
        """Draw a tensor's name."""
        return self.draw.choice("abc")

    def number(self) -> str:
        """Draw something that is a number."""
        return self.draw.choice(["n", "m", "s", "2", "0.25", "3"])

    def condition(self) -> str:
        """Draw a condition, mostly on data."""
        x = self.tensor()
        base = self.draw.choice(
            [
                f"{x}.sum() > {self.number()}",
                f"{x}[0] < {x}[1]",
                f"{x}.mean().item() < {self.number()}",
                f"({x} > 0).all()",
                "n < m",
                f"not {x}.max() > 1",
            ]
        )
        if self.draw.random() < 0.25:
            other = self.tensor()
            return f"{base} {self.draw.choice(['and', 'or'])} {other}[2] > 0"
        return base

    def tensor_(self, depth: int, _: bool) -> None:
        """Assign a tensor."""
        x, y, z = (self.tensor() for _ in range(3))
        text = self.draw.choice(
            [
                f"{x} = {y} + {z}",
                f"{x} = {y} * {self.number()}",
                f"{x} = torch.tanh({y}) - {self.number()}",
                f"{x} = {y}",
                f"{x} = {y}.clone()",
                f"{x} = torch.where({y} > 0, {y}, {z})",
            ]
        )
        self.add(depth, text)

    def number_(self, depth: int, _: bool) -> None:
        """Assign a number."""
        self.add(
            depth, self.draw.choice(["n = n + 1", "m = m * 2 - n", "s = s * 0.5", "n, m = m, n"])
        )

    def if_(self, depth: int, in_loop: bool) -> None:
        """Branch."""
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, in_loop=in_loop)
        if self.draw.random() < 0.5:
            self.add(depth, "else:")
            self.block(depth + 1, in_loop=in_loop)

    def while_(self, depth: int, _: bool) -> None:
        """Loop for at most a few rounds."""
        self.n_loops += 1
        counter = f"k{self.n_loops}"
        self.add(depth, f"{counter} = torch.zeros(())")
        self.add(depth, f"while {counter} < {self.draw.randint(1, 4)} + a.mean().clamp(-1, 1):")
        self.add(depth + 1, f"{counter} = {counter} + 1")
        self.block(depth + 1, in_loop=True)

    def for_(self, depth: int, _: bool) -> None:
        """Loop over what is known."""
        self.add(depth, f"for i{depth} in range({self.draw.randint(1, 3)}):")
        self.block(depth + 1, in_loop=True)

    def leave_(self, depth: int, _: bool) -> None:
        """Leave a round, or the loop, by a condition on data."""
        self.add(depth, f"if {self.tensor()}.sum() > {self.number()}:")
        self.add(depth + 1, self.draw.choice(["break", "continue"]))

    def in_place_(self, depth: int, _: bool) -> None:
        """Change a tensor in place."""
        self.add(depth, f"{self.tensor()}.add_({self.number()})")

    def swap_(self, depth: int, _: bool) -> None:
        """Exchange two variables."""
        x, y = self.draw.sample("abc", 2)
        self.add(depth, f"{x}, {y} = {y}, {x}")

    def return_(self, depth: int, _: bool) -> None:
        """Return early."""
        self.add(depth, f"if {self.tensor()}.sum() < {self.number()}:")
        self.add(depth + 1, "return a, b, c, n, m, s")


def drawn(seed: int) -> str:
    """The source of one program."""
    return _Writer(seed).program()
