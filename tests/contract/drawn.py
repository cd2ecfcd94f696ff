"""Random small programs, and random calls unlike their example.

A program is a function of two tensors, a dict of two and a plain value: operators, views, writes in
place, containers, branches on metadata. Each line is kept if it runs at the example; at other calls
it may raise, and then the program must not answer.
"""

import itertools
from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st

from tests.contract.modes import cast, double
from tests.contract.registry import Call, Probe
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

    def call(self) -> Call:
        """The call with these inputs."""
        around = MODES[self.mode]
        return Call(self.make) if around is None else Call(self.make, under=around)


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


@st.composite
def calls(draw, example: Inputs) -> Inputs:
    """A call that differs from the example in one to three ways."""
    sizes = st.tuples(st.integers(0, 5), st.integers(0, 5))
    changes = {
        "sizes": sizes,
        "layouts": st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
        "dtype": st.sampled_from([torch.float64, torch.int64, torch.float16, torch.bool]),
        "alias": st.sampled_from(ALIASES),
        "keys": st.sampled_from([("b", "a"), ("a", "c"), ("a",), ("a", "b", "c")]),
        "value": st.sampled_from(VALUES),
        "grad": st.just(True),
        "mode": st.sampled_from([*MODES]),
    }
    chosen = draw(st.lists(st.sampled_from([*changes]), min_size=1, max_size=3, unique=True))
    return replace(example, **{name: draw(changes[name]) for name in chosen})


@st.composite
def probes(draw) -> tuple[Probe, str]:
    """A program, its example and up to five calls; and its source, to be shown."""
    example = Inputs(
        draw(st.tuples(st.integers(1, 4), st.integers(2, 4))),
        (draw(st.sampled_from(LAYOUTS)), "plain"),
        alias=draw(st.sampled_from(["none", "none", "none", "y is x"])),
        value=draw(st.sampled_from(VALUES)),
    )
    source = draw(sources(example))
    found = {f"call {at}": draw(calls(example)) for at in range(draw(st.integers(2, 5)))}
    dynamic = draw(st.booleans())
    probe = Probe(
        "drawn",
        "structure",
        lambda: compiled("drawn", source, names_of_the_module()),
        example.call(),
        {"example": example.call(), **{name: each.call() for name, each in found.items()}},
        shapes=shapes if dynamic else None,
    )
    told = "\n".join([source, f"example: {example}", f"dynamic: {dynamic}"])
    return probe, "\n".join([told, *(f"{name}: {each}" for name, each in found.items())])


def shapes(dim) -> tuple:
    """Every size of the two tensors varies."""
    both = {0: dim.AUTO, 1: dim.AUTO}
    return both, both, {"a": None, "b": None}, None


@st.composite
def sources(draw, example: Inputs) -> str:
    """Lines that run at the example, and all that they made as the result."""
    torch.manual_seed(0)
    given = example.make()
    names = dict(zip(("x", "y", "d", "k"), given, strict=True))
    scope, fresh, lines = names_of_the_module(), map("v{}".format, itertools.count()), []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from([TENSORS, TENSORS, TENSORS, WRITES, CONTAINERS]))
        line = filled(draw, draw(st.sampled_from(kind)), names)
        target = next(fresh)
        line = f"{target} = {line}" if kind is TENSORS else line.replace("{v}", target)
        trial = {**scope, **names}
        try:
            exec(line, trial)
        except (RuntimeError, ValueError, IndexError, TypeError, KeyError, AttributeError):
            continue
        if isinstance(trial.get(target), torch.Tensor) and trial[target].numel() > 5000:
            continue
        # A line that warns leaves `__warningregistry__` behind.
        names = {
            name: trial[name] for name in trial if name not in scope and not name.startswith("__")
        }
        lines.append(line)
    results = ", ".join(name for name in names if name not in {"d", "k"})
    return "\n    ".join(["def drawn(x, y, d, k):", *lines, f"return {results}\n"])


def names_of_the_module() -> dict:
    """What the programs can call."""
    return {"torch": torch, "F": torch.nn.functional}


def filled(draw, template: str, names: dict) -> str:
    """Fill in tensors and conditions; `{v}` stays."""
    tensors = [name for name, value in names.items() if isinstance(value, torch.Tensor)]
    if "{cond}" in template:
        template = template.replace("{cond}", f"({draw(st.sampled_from(CONDITIONS))})")
    pick = st.sampled_from([*tensors, "x", "y"])
    return template.format(a=draw(pick), b=draw(pick), v="{v}")
