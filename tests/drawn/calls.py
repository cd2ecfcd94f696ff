"""The inputs of random programs, and calls that are unlike their example."""

import random
from dataclasses import dataclass, replace

import torch

from tests.contract.drawn import LAYOUTS, VALUES, laid
from tests.contract.modes import cast, double
from tests.seeding import reseed

ALIASES = ("y is x", "y views x", "a is x", "b is a", "y overlaps x", "z is x", "z holds y")
MODES = {"none": None, "no_grad": torch.no_grad, "autocast": cast, "double": double}
DTYPES = (torch.float64, torch.int64, torch.float16, torch.bool)
KINDS = ("sizes", "sizes", "sizes", "layouts", "layouts", "alias", "data", "data", "grad")
RARE = ("dtype", "keys", "value", "mode", "training")


@dataclass(frozen=True, slots=True)
class Inputs:
    """How the arguments of one call are made: two tensors, some containers, a plain value."""

    sizes: tuple[int, int] = (3, 4)
    layouts: tuple[str, str] = ("plain", "plain")
    dtype: torch.dtype = torch.float32
    alias: str = "none"
    keys: tuple[str, ...] = ("a", "b")
    value: object = 2
    grad: bool = False
    mode: str = "none"
    training: bool = True
    data: tuple[float, float] = (1.0, 0.0)
    seed: int = 1
    parameters: tuple[str, ...] = ("x", "y", "d", "k", "z")
    by_name: tuple[str, ...] = ()

    def arguments(self) -> dict[str, object]:
        """All that a program may take, by name."""
        reseed(self.seed)
        n, m = self.sizes
        x = laid(self.values(n, m).to(self.dtype), self.layouts[0])
        y = laid(self.values(n, m).to(self.dtype), self.layouts[1])
        a, b, z = self.values(n, m), self.values(m), [self.values(m), self.values(n, m)]
        match self.alias:
            case "y is x":
                y = x
            case "y views x":
                y = x.view(x.shape)
            case "y overlaps x":
                room = self.values(n * m + 2).to(self.dtype)
                x, y = room[: n * m].view(n, m), room[2:].view(n, m)
            case "a is x":
                a = x
            case "b is a":
                b = a[0] if n else b
            case "z is x":
                z[1] = x
            case "z holds y":
                z[0] = y[0] if n else z[0]
        if self.grad and x.is_floating_point() and self.alias == "none":
            x.requires_grad_()
        table = {"a": a, "b": b}
        found = {"x": x, "y": y, "d": {key: table.get(key, b) for key in self.keys}}
        found |= {"k": self.value, "z": z}
        return {name: found[name] for name in self.parameters}

    def values(self, *sizes: int) -> torch.Tensor:
        """Data of a scale, about a middle; zeros where it has none."""
        scale, middle = self.data
        return torch.randn(*sizes) * scale + middle

    def make(self) -> tuple[tuple, dict]:
        """(args, kwargs)."""
        found = self.arguments()
        by_name = {name: found.pop(name) for name in self.by_name}
        return tuple(found.values()), by_name

    def told(self) -> str:
        """What is not as it is by default."""
        plain = Inputs()
        differing = [
            f"{name}={value!r}"
            for name in self.__slots__
            if (value := getattr(self, name)) != getattr(plain, name)
        ]
        return f"Inputs({', '.join(differing)})"


def example_of(rng: random.Random) -> Inputs:
    """The example of a program."""
    parameters = ("x", "y", *(each for each in ("d", "k", "z") if rng.random() < 0.5))
    at = rng.randint(1, len(parameters)) if rng.random() < 0.3 else len(parameters)
    return Inputs(
        (rng.choice((1, 2, 3, 3, 4)), rng.choice((2, 3, 4))),
        (rng.choice(LAYOUTS), "plain"),
        alias=rng.choice(ALIASES) if rng.random() < 0.15 else "none",
        value=rng.choice(VALUES),
        grad=rng.random() < 0.15,
        training=rng.random() < 0.7,
        parameters=parameters,
        by_name=parameters[at:],
        seed=rng.randint(1, 99),
    )


def calls_of(rng: random.Random, example: Inputs, *, dynamic: bool) -> list[Inputs]:
    """Four calls that differ from the example; where sizes are fixed they seldom differ."""
    kinds = [each for each in KINDS if dynamic or each != "sizes"]
    found = []
    for _ in range(4):
        wanted = {rng.choice(kinds) for _ in range(rng.randint(1, 2))}
        if rng.random() < 0.12:
            wanted.add(rng.choice((*RARE, "sizes")))
        found.append(changed(rng, example, sorted(wanted)))
    return found


def changed(rng: random.Random, example: Inputs, kinds: list[str]) -> Inputs:
    """Other than the example in what is named."""
    makers = {
        "sizes": lambda: (rng.randint(0, 5), rng.choice((example.sizes[1], rng.randint(0, 5)))),
        "layouts": lambda: (rng.choice(LAYOUTS), rng.choice(LAYOUTS)),
        "dtype": lambda: rng.choice(DTYPES),
        "alias": lambda: rng.choice(ALIASES),
        "keys": lambda: rng.choice([("b", "a"), ("a", "c"), ("a",), ("a", "b", "c")]),
        "value": lambda: rng.choice(VALUES),
        "grad": lambda: True,
        "mode": lambda: rng.choice([*MODES]),
        "training": lambda: not example.training,
        "data": lambda: rng.choice([(1.0, 1.0), (1.0, -1.0), (0.0, 0.0), (3.0, 0.0), (0.0, 1.0)]),
    }
    return replace(example, seed=rng.randint(100, 999), **{name: makers[name]() for name in kinds})
