"""Random programs of arithmetic on sizes: each line is kept if it runs at the example's sizes."""

import itertools

import torch
from hypothesis import strategies as st

from tests.sizes.programs.registry import SizeProgram, compiled

TENSORS = (
    "{a}.flatten()", "{a}.reshape(-1, {c})", "{a}.view({n}, -1)", "{a}.view({n}, {m})",
    "{a}[:{n}]", "{a}[{n}:]", "{a}[::{c}]", "{a}[..., -{c}:]", "{a}[{n}]",
    "{a}.narrow(0, {n}, {m})", "{a} + {b}", "{a} * {n}", "{a} @ {b}", "torch.cat([{a}, {b}])",
    "torch.cat([{a}, {b}], -1)", "torch.stack([{a}, {b}])", "{a}.unsqueeze({c} % 2)",
    "{a}.squeeze(0)", "{a}.squeeze()", "{a}.transpose(0, -1)", "{a}.sum(0)", "{a}.mean(-1)",
    "{a}.amax(0, keepdim=True)", "{a}.softmax(0)", "{a}.cumsum(-1)",
    "{a}.expand({n}, *{a}.shape)", "{a}.expand_as({b})",
    "{a}.repeat({n}, *([1] * ({a}.dim() - 1)))", "{a}.repeat_interleave({c}, 0)",
    "{a}.chunk({c})[-1]", "{a}.split({n})[0]", "{a}.unfold(0, {c}, 1)",
    "F.pad({a}, ({n}, {m}))", "F.pad({a}, (0, -1))", "torch.arange({n}) * 1.0",
    "torch.ones({n}, {m})", "torch.full(({n},), 1.0 * {m})", "{a}.new_zeros({n}) + {a}.sum()",
    "torch.where({cond}, {a}, -{a})", "{a}.contiguous().t()", "{a}.flip(0)",
    "{a}.roll({n}, 0)", "{a}.diagonal()", "{a}.tril({n})", "torch.outer({a}, {b})",
    "{a} if {cond} else {b}", "{a} * 2 if {cond} else {a} + 1",
    "F.avg_pool1d({a}[None], {c})[0]", "F.interpolate({a}[None], scale_factor=2.0)[0]",
    "{a}.unflatten(0, (-1, {c}))", "{a}.select(-1, {n})", "torch.block_diag({a}, {b})",
    "{a}.movedim(0, -1).reshape({b}.shape)",
)  # fmt: skip
NUMBERS = (
    "{n} + {m}", "{n} - {c}", "{n} * {m}", "{n} // {c}", "{n} % {c}", "max({n}, {m})",
    "min({n}, {m})", "{a}.numel()", "{a}.shape[-1]", "{a}.size(0)", "len({a})", "-{n} % {c}",
    "abs({n} - {m})", "{n} // {m}", "({n} + {c} - 1) // {c} * {c}", "math.ceil({n} / {c})",
    "int({n} * 0.5)", "{n} if {cond} else {m}", "math.prod({a}.shape)", "{a}.stride(0)",
)  # fmt: skip
CONDITIONS = (
    "{n} > {m}", "{n} == {m}", "{n} != {c}", "{n} % {c} == 0", "{n} * {m} <= {c} + 20",
    "{n} >= {c}", "{n} < {m} + {c}", "{a}.shape == {b}.shape", "{a}.numel() > {c}",
    "{a}.is_contiguous()",
    "{c} < {n} <= 9", "not {n}", "{n} // {c} == {m}", "{n} > 1 and {m} > 1", "{n} in (1, {c})",

)  # fmt: skip
STATEMENTS = ("assert {cond}", "torch._check({cond})")
SIZES = st.integers(0, 6)
"""Of the example, and calls are at 0 and 1 too."""
OTHERS = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=3, max_size=6)


def inputs(n=3, m=4, k=12):
    """Give a matrix and a vector."""
    return torch.randn(n, m), torch.randn(k)


@st.composite
def programs(draw) -> SizeProgram:
    """A function of a matrix and a vector: at most ten lines, all of whose values it returns."""
    n, m = draw(SIZES), draw(SIZES)
    k = draw(st.sampled_from([n * m, n, m, n + m, 2 * n, draw(SIZES)]))
    names = {"x": inputs(n, m, k)[0], "y": inputs(n, m, k)[1]}
    lines, fresh = [], map("v{}".format, itertools.count())
    scope = _names_of_the_module()
    for _ in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from([TENSORS, TENSORS, NUMBERS, STATEMENTS]))
        line = _filled(draw, draw(st.sampled_from(kind)), names)
        target = "" if kind is STATEMENTS else next(fresh)
        line = f"{target} = {line}" if target else line
        trial = dict(names)
        try:
            exec(line, scope, trial)
        except (RuntimeError, AssertionError, ValueError, IndexError, ZeroDivisionError, TypeError):
            continue
        if target and isinstance(trial[target], torch.Tensor) and trial[target].numel() > 5000:
            continue
        names = trial
        lines.append(line)
    results = ", ".join(names)
    source = "\n    ".join(["def drawn(x, y):", *lines, f"return {results}\n"])
    sizes = (n, m, k)
    return SizeProgram(
        "drawn",
        source,
        lambda: compiled("drawn", source, _names_of_the_module()),
        lambda n=sizes[0], m=sizes[1], k=sizes[2]: inputs(n, m, k),
        None,
    )


def _names_of_the_module() -> dict:
    import math  # noqa: PLC0415  of the programs, not of this file

    return {"torch": torch, "F": torch.nn.functional, "math": math}


def _filled(draw, template: str, names: dict) -> str:
    """Fill in tensors, numbers, constants and conditions that are there by now."""
    tensors = [name for name, value in names.items() if isinstance(value, torch.Tensor)]
    numbers = [name for name, value in names.items() if isinstance(value, int)]
    sizes = ["x.shape[0]", "x.shape[1]", "y.shape[0]", *numbers]
    if "{cond}" in template:
        template = template.replace("{cond}", f"({draw(st.sampled_from(CONDITIONS))})")
    return template.format(
        a=draw(st.sampled_from(tensors)),
        b=draw(st.sampled_from(tensors)),
        n=draw(st.sampled_from(sizes)),
        m=draw(st.sampled_from([*sizes, 1, 2])),
        c=draw(st.integers(1, 4)),
    )
