"""Random small programs, and random calls unlike their example.

A program takes two tensors, a dict of two and a plain value: operators, views, writes in place,
containers, branches on metadata. Half of them have a parameter and a buffer, and are called twice.
Each line is kept if it runs at the example; at other calls it may raise, and then the program must
not answer. A program is all that follows from one number, so that programs are unlike each other.
"""

import itertools
import random
from dataclasses import dataclass, replace

import torch

from tests.contract.modes import cast, double
from tests.contract.registry import Call, Probe
from tests.seeding import reseed
from tests.sizes.programs.registry import compiled

TENSORS = (
    "{a} + 1", "{a} * {b}", "{a} - {b}", "{a} @ {b}", "{a}.relu()", "-{a}", "{a} / 2", "{a} > 0",
    "{a}.t()", "{a}.T", "{a}.mT", "{a}[0]", "{a}[1:]", "{a}[..., ::2]", "{a}[:, 1]", "{a}[None]",
    "{a}.view(-1)", "{a}.reshape(-1)", "{a}.flatten()", "{a}.view({a}.shape)", "{a}.expand(2, -1)",
    "{a}.contiguous()", "{a}.clone()", "{a}.detach()", "{a}.to(torch.float64)", "{a}.float()",
    "{a}.unsqueeze(-1)", "{a}.squeeze()", "{a}.squeeze(0)", "{a}.transpose(0, -1)", "{a}.sum(0)",
    "{a}.sum()", "{a}.mean(-1, keepdim=True)", "{a}.softmax(-1)", "{a}.cumsum(0)", "{a}.amax(0)",
    "{a}.flip(0)", "{a}.roll(1, 0)", "{a}.diagonal()", "{a}.unfold(0, 2, 1)",
    "torch.cat([{a}, {b}])", "torch.stack([{a}, {b}])", "torch.where({a} > 0, {a}, {b})",
    "torch.empty_like({a}).fill_(2)", "torch.zeros_like({a})", "{a}.new_ones({a}.shape)",
    "{a}.as_strided((2,), (1,))", "{a}.chunk(2)[-1]", "{a}.split(1)[0]", "{a}.unbind(0)[-1]",
    "{a}.masked_fill({a} > 0, 5.0)", "{a}.index_select(0, torch.tensor([0]))", "{a} * k",
    "{a}.shape[0] * {b}", "{a}.numel() + {b}", "{a} if {cond} else {b}",
    "{a} * (2 if {cond} else 3)", "F.dropout({a}, 0.5, {cond})", "torch.rand_like({a}) + {a}",
    "{a}.type_as({b})", "torch.complex({a}, {a}).conj().imag",
)  # fmt: skip
WRITES = (
    "{a}.add_(1)", "{a}.mul_({b})", "{a}.copy_({b})", "{a}.zero_()", "{a}[0] = 7",
    "{a}[..., 0] += 1", "{a}.view(-1)[0].fill_(2)", "{a}.t()[0].neg_()", "{a}[1:].mul_(3)",
    "{a}.reshape(-1).sub_(1)", "{a}.contiguous().add_(2)", "{a}.masked_fill_({a} > 0, 0)",
    "torch.add({a}, {b}, out={a})", "{a}.unsqueeze(0).exp_()", "{a}.detach().add_(1)",
    "{a}.clamp_(-1, 1)", "{a}.diagonal().zero_()", "{a} += {b}",
)  # fmt: skip
CONTAINERS = (
    "{v} = list(d.values())[0]", "{v} = sum(d.values())", "{v} = d['b']", "{v} = [*d][0]",
    "{v} = [each * 2 for each in d.values()]", "{v} = {{key: {a} for key in d}}",
    "{v} = [{a}, {b}]", "{v} = ({a}, {{'in': {b}}})", "{v} = d.copy()", "{v} = dict(d, c={a})",
    "{v} = [{a}]; {v}.append({b}); {v}.reverse()", "{v} = {{'z': {a}}}; {v}.update(d)",
    "{v} = len(d)", "{v} = {a}.shape", "{v} = {a}.size(0)", "{v} = str(k)", "{v} = {a}.dtype",
    "d['a'] = {a}", "d.pop('b')", "d['c'] = {b}", "{v} = sorted(d)",
    "{v} = next(iter(d.items()))[1]",
)  # fmt: skip
STATEMENTS = (
    "for each in d.values(): each.add_(1)", "with torch.no_grad(): {v} = {a} * 2",
    "if {cond}: {a}.add_(1)", "if not {cond}: {a} = {b}", "{v} = (lambda t: t * 2)({a})",
    "{v} = [{a} * i for i in range(k if isinstance(k, int) else 2)]",
    "{v} = [each for each in ({a}, {b}) if each.dim() > 1]", "{v} = [*{a}]", "{v}, *_ = {a}",
    "{v} = torch.stack([each.sum() for each in d.values()])", "del d['b']",
    "{v} = {a} * max({a}.shape[0], {b}.shape[-1])", "{v} = {a}.new_zeros({a}.shape[0] + 1)",
    "{v} = torch.arange({a}.shape[0]) * 2", "{v} = {a}.shape[0] // 2 * {a}",
    "{v} = {a}.repeat(2, *[1] * ({a}.dim() - 1))", "{v} = {a}.view({a}.shape[0], -1) + 1",
    "{v} = torch.zeros({b}.shape[-1]) + {a}", "{v} = {a}.reshape({a}.shape[::-1])",
    "{v} = {{str(i): each for i, each in enumerate({a}.unbind(-1))}}",
    "try:\n        {v} = {a}.view(-1) * 2\n    except RuntimeError:\n        {v} = {a}.reshape(-1)",
    "{v} = {{1: 2.0, 3: 3.0}}.get({a}.shape[0], 1.0) * {b}",
    "{v} = len({{*{a}.shape, *{b}.shape}})",
    "{v} = {a}[{b}.shape[0] - 1:]", "{v} = {a}[-2:, ...].mul_(2)",
)  # fmt: skip
STATE_TENSORS = (
    "self.w * {a}", "{a} + self.b", "self.w", "self.b[1:]", "self.w.sum() * {a}", "self.b.clone()",
    "self.w.detach()", "{a} @ self.w", "self.w[None].t()", "F.linear({a}, self.w[None])",
    "self.b.expand(2, -1)", "{a} * (2 if self.training else 3)",
    "F.dropout({a}, 0.5, self.training)",
)  # fmt: skip
STATE_WRITES = (
    "self.b.add_(1)", "self.b.copy_({a}.sum(0))", "self.b = self.b + 1", "self.b[0] = 3",
    "self.b.mul_({a}.sum())", "self.b[1:].neg_()", "self.b = self.w.detach() * 2", "self.b = {a}",
    "self.b.view(-1)[0].add_({a}.sum())", "{a} = self.b",
)  # fmt: skip
CONDITIONS = (
    "{a}.is_contiguous()", "{a}.stride(0) > 2", "{a}.stride() == {b}.stride()", "{a}.dim() == 2",
    "{a}.dtype == torch.float32", "{a}.shape == {b}.shape", "{a}.shape[0] > 2", "len({a}) == 3",
    "{a}.storage_offset() == 0", "isinstance(k, float)", "k in (1, 'sum', None)",
    "list(d)[0] == 'a'", "'b' in d", "{a}.is_floating_point()", "{a}.numel() % 2 == 0",
    "{a}.device.type == 'cpu'", "{a}.is_contiguous(memory_format=torch.channels_last)",
    "hasattr(k, 'real')",
)  # fmt: skip
VALUES = (1, 2, True, 1.0, 0.5, 0.0, -0.0, float("nan"), "sum", None)
LAYOUTS = ("plain", "plain", "transposed", "offset", "gapped", "expanded")
ALIASES = ("none", "none", "y is x", "y views x", "a is x", "b is a", "y overlaps x")
MODES = {"none": None, "no_grad": torch.no_grad, "autocast": cast, "double": double}


@dataclass(frozen=True, slots=True)
class Inputs:
    """How the inputs of one call are made."""

    sizes: tuple[int, int] = (3, 4)
    layouts: tuple[str, str] = ("plain", "plain")
    dtype: torch.dtype = torch.float32
    alias: str = "none"
    keys: tuple[str, str] = ("a", "b")
    value: object = 2
    grad: bool = False
    mode: str = "none"

    def make(self) -> tuple:
        """Make them; the seed is the caller's."""
        n, m = self.sizes
        x = laid(torch.randn(n, m).to(self.dtype), self.layouts[0])
        y = laid(torch.randn(n, m).to(self.dtype), self.layouts[1])
        a, b = torch.randn(n, m), torch.randn(m)
        if self.alias == "y is x":
            y = x
        if self.alias == "y views x":
            y = x.view(x.shape)
        if self.alias == "y overlaps x":
            room = torch.randn(n * m + 2).to(self.dtype)
            x, y = room[: n * m].view(n, m), room[2:].view(n, m)
        if self.alias == "a is x":
            a = x
        if self.alias == "b is a":
            b = a[0] if n else b
        if self.grad and y.is_floating_point() and self.alias == "none":
            y.requires_grad_()
        table = {"a": a, "b": b}
        return x, y, {key: table.get(key, b) for key in self.keys}, self.value

    def call(self, times: int = 1) -> Call:
        """The call with these inputs."""
        around = MODES[self.mode]
        made = {} if around is None else {"under": around}
        return Call(self.make, times=times, **made)


def laid(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same values, lying otherwise in memory."""
    if layout == "transposed":
        return tensor.t().contiguous().t()
    if layout == "offset":
        return torch.cat([tensor.new_zeros(3), tensor.flatten()])[3:].view(tensor.shape)
    if layout == "gapped":
        return torch.stack([tensor, tensor], -1)[..., 0]
    if layout == "expanded":
        return tensor[:1].expand_as(tensor) if tensor.shape[0] else tensor
    return tensor


def other_call(rng: random.Random, example: Inputs) -> Inputs:
    """A call that differs from the example in one to three ways."""
    changes = {
        "sizes": lambda: (rng.randint(0, 5), rng.randint(0, 5)),
        "layouts": lambda: (rng.choice(LAYOUTS), rng.choice(LAYOUTS)),
        "dtype": lambda: rng.choice([torch.float64, torch.int64, torch.float16, torch.bool]),
        "alias": lambda: rng.choice(ALIASES),
        "keys": lambda: rng.choice([("b", "a"), ("a", "c"), ("a",), ("a", "b", "c")]),
        "value": lambda: rng.choice(VALUES),
        "grad": lambda: True,
        "mode": lambda: rng.choice([*MODES]),
    }
    # Sizes and layouts are what most programs admit others of.
    kinds = [*changes, "sizes", "sizes", "layouts", "alias"]
    chosen = sorted({rng.choice(kinds) for _ in range(rng.randint(1, 3))})
    return replace(example, **{name: changes[name]() for name in chosen})


def drawn(number: int) -> tuple[Probe, str]:
    """A program, its example and up to five calls; and its source, to be shown."""
    rng = random.Random(number)
    has_state, dynamic = rng.random() < 0.5, rng.random() < 0.5
    example = Inputs(
        (rng.randint(1, 4), rng.randint(2, 4)),
        (rng.choice(LAYOUTS), "plain"),
        alias=rng.choice(["none", "none", "none", "y is x"]),
        value=rng.choice(VALUES),
    )
    source = source_of(rng, example, has_state=has_state)
    found = {f"call {at}": other_call(rng, example) for at in range(rng.randint(2, 5))}
    times = 2 if has_state else 1
    probe = Probe(
        "drawn",
        "structure",
        lambda: compiled("drawn", source, names_of_the_module()),
        example.call(),
        {"example": example.call(times), **{n: each.call(times) for n, each in found.items()}},
        shapes=shapes if dynamic else None,
    )
    told = "\n".join([source, f"number: {number}, dynamic: {dynamic}", f"example: {example}"])
    return probe, "\n".join([told, *(f"{name}: {each}" for name, each in found.items())])


def shapes(dim) -> tuple:
    """Every size of the two tensors varies."""
    both = {0: dim.AUTO, 1: dim.AUTO}
    return both, both, {"a": None, "b": None}, None


def source_of(rng: random.Random, example: Inputs, *, has_state: bool) -> str:
    """Lines that run at the example, and all that they made as the result."""
    reseed(0)
    given = example.make()
    names = dict(zip(("x", "y", "d", "k"), given, strict=True))
    head = STATEFUL.format(example.sizes[1]) if has_state else "def drawn(x, y, d, k):"
    if has_state:
        names["self"] = compiled("drawn", f"{head}\n        pass\n", names_of_the_module())
    kinds = [TENSORS, TENSORS, TENSORS, WRITES, CONTAINERS, STATEMENTS]
    kinds += [STATE_TENSORS, STATE_WRITES] if has_state else []
    scope, fresh, lines = names_of_the_module(), map("v{}".format, itertools.count()), []
    for _ in range(rng.randint(2, 9)):
        kind = rng.choice(kinds)
        line = filled(rng, rng.choice(kind), names)
        target = next(fresh)
        is_value = kind in (TENSORS, STATE_TENSORS)
        line = f"{target} = {line}" if is_value else line.replace("{v}", target)
        trial = {**scope, **names}
        try:
            exec(line.replace("\n    ", "\n"), trial)
        except ERRORS:
            continue
        if isinstance(trial.get(target), torch.Tensor) and trial[target].numel() > 5000:
            continue
        # A line that warns leaves `__warningregistry__` behind.
        names = {
            name: trial[name] for name in trial if name not in scope and not name.startswith("_")
        }
        lines += line.split("\n    ")
    names = {name: value for name, value in names.items() if name != "each"}
    results = ", ".join(name for name in names if name not in {"d", "k", "self"})
    indent = "\n        " if has_state else "\n    "
    return indent.join([head, *lines, f"return {results}\n"])


STATEFUL = """\
class drawn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(1.0, {0} + 1))
        self.register_buffer("b", torch.ones({0}))

    def forward(self, x, y, d, k):"""

ERRORS = (RuntimeError, ValueError, IndexError, TypeError, KeyError, AttributeError)


def names_of_the_module() -> dict:
    """What the programs can call."""
    return {"torch": torch, "F": torch.nn.functional}


def filled(rng: random.Random, template: str, names: dict) -> str:
    """Fill in tensors and conditions; `{v}` stays."""
    tensors = [name for name, value in names.items() if isinstance(value, torch.Tensor)]
    if "{cond}" in template:
        template = template.replace("{cond}", f"({rng.choice(CONDITIONS)})")
    a, b = (rng.choice([*tensors, "x", "y"]) for _ in range(2))
    return template.format(a=a, b=b, v="{v}")
