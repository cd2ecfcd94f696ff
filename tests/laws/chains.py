"""Random chains of views, copies if needed, writes, draws and leaves: what lowering may lose.

A program takes two tensors, whose sizes vary, and returns all that it made. A line is kept if it
runs at the example. A program is all that follows from one number.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, replace

import torch

from tests.contract.drawn import ERRORS, laid, names_of_the_module
from tests.contract.registry import Call, Probe
from tests.seeding import reseed
from tests.sizes.programs.registry import compiled

VIEWS = (
    "{a}[:, {a}.shape[0] % {k}:]", "{a}[{a}.shape[1] % {k}:]", "{a}[1:]", "{a}[:-1]",
    "{a}[..., :1]", "{a}.narrow(0, 0, min({a}.shape[0], {k}))", "{a}[:, : {a}.shape[1] // {k}]",
    "{a}[-{k}:]", "{a}.t()", "{a}.transpose(0, -1)", "{a}.movedim(0, -1)", "{a}.permute(1, 0)",
    "{a}.mT", "{a}[:1].expand({a}.shape[0], -1)", "{a}.expand(1, -1, -1)", "{a}.unsqueeze(0)",
    "{a}.squeeze(0)", "{a}[:, -1:].squeeze(1)", "{a}.chunk({k})[0]", "{a}.chunk(2, 1)[-1]",
    "{a}.split({k})[0]", "{a}.unbind(0)[0]", "{a}.unfold(0, {k}, 1)", "{a}.diagonal()",
    "{a}[::{k}]", "{a}[..., 0]", "{a}.select(0, -1)", "{a}.view(-1)", "{a}.view({a}.shape[0], -1)",
    "{a}.detach()", "{a}[:]", "{a}.swapaxes(0, 1)", "{a}.view_as({a})", "{a}.unflatten(0, (1, -1))",
    "torch.atleast_2d({a})", "torch.broadcast_tensors({a}, {a}[:1])[1]", "torch.real({a})",
    "{a}.alias()",
)  # fmt: skip
COPIES = (
    "{a}.contiguous()", "{a}.reshape(-1)", "{a}.reshape({a}.shape[::-1])", "{a}.flatten()",
    "{a}.flatten(0, 1)", "{a}.ravel()", "{a}.reshape({a}.shape[0], -1)", "{a}.reshape_as({b})",
    "{a}.to(torch.float32)", "{a}.to({b})", "{a}.to({a}.dtype, copy=True)", "{a}.float()",
    "{a}.cpu()", "{a}.type_as({b})", "{a}.to(memory_format=torch.contiguous_format)", "{a}.clone()",
    "+{a}", "{a}[None, None].contiguous(memory_format=torch.channels_last)[0, 0]",
    "{a}.sum_to_size({a}.shape)", "F.channel_shuffle({a}[None, :, None], 1)", "F.pad({a}, (0, 0))",
    "{a}.repeat(1, 1)", "torch.cat([{a}])", "{a}.roll(0, 0)",
    "{a}.index_select(0, torch.arange({a}.shape[0]))", "torch.stack([{a}])[0]",
    "F.dropout({a}, 0.5, False)", "F.dropout({a}, 0.0)", "torch.einsum('ij->ij', {a})",
    "{a}.tile((1,))", "{a}.flip(())", "{a}.clone(memory_format=torch.contiguous_format)",
    "torch.einsum('ij->ji', {a})",
)  # fmt: skip
VALUES = (
    "{a} + 1", "{a} * {b}", "{a} @ {b}", "{a} @ {a}.t()", "{a}.relu()", "{a}.softmax(-1)",
    "{a}.cumsum(0)", "{a}.sum(0)", "{a}.sort(-1)[0]", "torch.where({a} > 0, {a}, {b})",
    "{a}.mean(-1, keepdim=True)", "torch.empty_like({a}).fill_(1)", "torch.zeros_like({a})",
    "{a}.new_ones({a}.shape)", "{a}.double()", "torch.zeros({a}.shape)",
    "{a}.masked_fill({a} > 0, 2)", "F.layer_norm({a}, {a}.shape[1:])", "torch.cat([{a}, {b}])",
    "{a}.amax(0)", "{a}.triu()", "{a}.clamp(-1, 1)", "F.gelu({a})", "{a}.exp()",
)  # fmt: skip
WRITES = (
    "{a}.add_(1)", "{a}.mul_({b})", "{a}.copy_({b})", "{a}.zero_()", "{a}[0] = 7",
    "{a}[:, :1] += 1", "{a}.t()[0].neg_()", "{a}.contiguous().add_(2)", "{a}.reshape(-1).sub_(1)",
    "{a}.masked_fill_({a} > 0, 0)", "{a}[:, {a}.shape[0] % {k}:].contiguous().mul_(2)",
    "{a}.flatten().neg_()", "{a}.cumsum_(0)", "{a}.clamp_(-1, 1)", "{a}.diagonal().fill_(3)",
    "{a}.to(torch.float32).add_(1)", "{a}.detach().add_(1)",
    "{a}.index_add_(0, torch.arange({a}.shape[0]), {b})", "{a}.unsqueeze(0).exp_()", "{a}.tril_()",
    "{a}.copy_({b}.t())", "{a}[1:] = {b}[:-1]", "F.dropout({a}, 0.5, False).add_(1)", "{a}.relu_()",
    "{a}.addmm_({b}, {b}.t())", "{a}.t_()", "{a}.squeeze_(0)", "{a}.unsqueeze_(0)",
    "{a}.sub_({a}.mean())",
)  # fmt: skip
OUTS = (
    "torch.mm({a}, {a}.t(), out=torch.empty({a}.shape[0], {a}.shape[0]))",
    "torch.add({a}, 1, out=torch.empty({a}.shape))",
    "torch.mm({a}, {b}, out=torch.empty_like({a}))", "torch.sin({a}, out=torch.empty_like({a}))",
    "torch.cumsum({a}, 0, out=torch.zeros_like({a}))",
    "torch.add({a}, {b}, out=torch.empty_like({b}))", "torch.mul({a}, 2, out={b})",
    "torch.cat([{a}, {a}], out=torch.empty(0))", "torch.amax({a}, 0, out=torch.empty(0))",
    "torch.sub({a}, {b}, out=torch.empty({a}.shape[::-1]).t())", "torch.exp({a}, out={a})",
)  # fmt: skip
DRAWS = (
    "F.dropout({a}, 0.3)", "F.dropout({a}, 1.0)", "torch.rand(2)", "torch.rand_like({a})",
    "{a}.bernoulli_(0.5)", "torch.bernoulli(torch.sigmoid({a}))", "{a}.uniform_()",
    "F.rrelu({a}, training=True)", "torch.randperm(4)", "F.rrelu({a})", "torch.normal({a}, 1.0)",
    "{a}.normal_()", "torch.randint(0, 9, ({a}.shape[0],))",
    "torch.multinomial({a}.detach().abs() + 1, 1)", "F.alpha_dropout({a}, 0.4, True)",
    "F.alpha_dropout({a}, 1.0, True)", "F.dropout1d({a}, 0.5)", "F.dropout1d({a}, 1.0)",
    "F.feature_alpha_dropout({a}, 0.5, True)", "{a}.exponential_()", "torch.randn_like({a}).t()",
    "F.dropout({a}, 0.5, inplace=True)", "F.dropout({a}, 1.0, inplace=True)",
    "F.dropout({a}, 0.0, inplace=True)", "F.gumbel_softmax({a})",
    "F.scaled_dot_product_attention({a}[None], {a}[None], {a}[None], dropout_p=0.5)",
    "torch.bernoulli({a}, 0.0)",
    "F.scaled_dot_product_attention({a}[None], {a}[None], {a}[None], dropout_p=1.0)",
    "{a}.detach().clone().random_(0, 5)", "torch.poisson({a}.abs())",
    "F.batch_norm({a}, None, None, training=True)",
)  # fmt: skip
LEAVES = (
    "{v} = {a}.detach().clone().requires_grad_()",
    "{v} = torch.nn.Parameter({a}.detach().clone()) * 2", "{v} = {a}.clone(); {v}.detach_()",
    "{v} = torch.ones(2); {v}.requires_grad_(); {v} = {v} * 2",
    "{v} = {a}.detach().requires_grad_()", "{v} = torch.zeros({a}.shape).requires_grad_() + {a}",
    "with torch.no_grad(): {v} = {a} * 2", "with torch.no_grad(): {v} = F.dropout({a}, 0.5)",
    "with torch.no_grad(): {v} = {a}.contiguous()", "with torch.no_grad(): {a}.add_(1)",
    "with torch.no_grad(): {v} = ({a} + 1).requires_grad_()",
    "with torch.enable_grad(): {v} = {a}[1:]",
    "with torch.autocast('cpu', torch.bfloat16): {v} = {a} @ {a}.t()",
    "with torch.no_grad(): {v} = {a}.t(); {v}[0].mul_(2)",
    "with torch.autocast('cpu', torch.bfloat16): {v} = F.dropout({a}, 0.5) + torch.rand(1)",
)  # fmt: skip
STRIDED = (
    "{a}.as_strided((2,), (1,))", "{a}[1:].as_strided((2,), (1,))",
    "{a}.as_strided((2, 2), (1, {k}), 1)",
    "{a}.as_strided((2,), (2,), {k}).add_(1)", "{a}[:, 1:].as_strided((2,), (1,)).mul_({b}.sum())",
    "{a}.narrow(-1, int(({a} > 9).sum()), 1)", "{a}.unfold(0, 2, 2)", "{a}.unfold(-1, 2, 3).neg_()",
    "{a}.narrow(-1, int(({a} > 9).sum()), 1).contiguous(); {a}.add_(1)",
    "{a}.transpose(0, -1).as_strided((3,), (1,), {k}).contiguous()",
)  # fmt: skip
KINDS = (
    VIEWS, VIEWS, VIEWS, COPIES, COPIES, VALUES, WRITES, WRITES, OUTS, DRAWS, LEAVES, STRIDED,
)  # fmt: skip
LAYOUTS = ("plain", "plain", "plain", "transposed", "offset", "gapped", "expanded")


@dataclass(frozen=True, slots=True)
class Inputs:
    """How the two tensors of one call are made."""

    sizes: tuple[int, int] = (3, 4)
    layouts: tuple[str, str] = ("plain", "plain")
    grad: bool = False

    def make(self) -> tuple:
        """Make them; the seed is the caller's."""
        x, y = (laid(torch.randn(*self.sizes), each) for each in self.layouts)
        return x, torch.randn(*self.sizes, requires_grad=True) if self.grad else y


def other_call(rng: random.Random, example: Inputs) -> Inputs:
    """A call that differs from the example."""
    changes = {
        "sizes": lambda: (rng.randint(0, 6), rng.randint(0, 6)),
        "layouts": lambda: (rng.choice(LAYOUTS), rng.choice(LAYOUTS)),
        "grad": lambda: True,
    }
    kinds = [*changes, "sizes", "sizes", "sizes", "layouts"]
    chosen = sorted({rng.choice(kinds) for _ in range(rng.randint(1, 2))})
    return replace(example, **{name: changes[name]() for name in chosen})


def chain(number: int) -> tuple[Probe, str]:
    """A program, its example and some calls; and its source, to be shown."""
    rng = random.Random(number)
    sizes = rng.choice([(3, 4), (4, 4), (3, 3), (2, 6), (6, 2), (1, 4), (5, 1)])
    example = Inputs(sizes, (rng.choice(LAYOUTS), "plain"))
    source = source_of(rng, example)
    found = {f"call {at}": other_call(rng, example) for at in range(5)}
    dynamic = rng.random() < 0.8
    probe = Probe(
        "chain",
        "layout",
        lambda: compiled("chain", source, names_of_the_module()),
        Call(example.make),
        {"example": Call(example.make), **{n: Call(each.make) for n, each in found.items()}},
        shapes=both_sizes if dynamic else None,
    )
    told = "\n".join([source, f"number: {number}, dynamic: {dynamic}", f"example: {example}"])
    return probe, "\n".join([told, *(f"{name}: {each}" for name, each in found.items())])


def both_sizes(dim) -> tuple:
    """Both sizes of both tensors vary, from 0 on."""
    sizes = {0: dim("n", min=0, max=9), 1: dim("m", min=0, max=9)}
    return sizes, sizes


def source_of(rng: random.Random, example: Inputs) -> str:
    """Lines that run at the example, and all that they made as the result."""
    reseed(0)
    names = dict(zip(("x", "y"), example.make(), strict=True))
    scope, fresh, lines = names_of_the_module(), map("v{}".format, itertools.count()), []
    for _ in range(rng.randint(3, 8)):
        kind, target = rng.choice(KINDS), next(fresh)
        line = filled(rng, rng.choice(kind), names, target)
        is_statement = kind is LEAVES or "] = " in line or "+= " in line
        line = line if is_statement else f"{target} = {line}"
        trial = {**scope, **names}
        try:
            exec(line, trial)
        except ERRORS:
            continue
        names = {
            name: value
            for name, value in trial.items()
            if name not in scope and not name.startswith("_") and isinstance(value, torch.Tensor)
        }
        lines += line.split("; ") if not line.startswith("with") else [line]
    made = [name for name in names if name not in {"x", "y"}]
    rng.shuffle(made)
    results = ", ".join([*made[: rng.randint(1, 5)], *(["x"] if rng.random() < 0.2 else [])]) or "x"
    return "\n    ".join(["def chain(x, y):", *lines, f"return ({results},)\n"])


def filled(rng: random.Random, template: str, names: dict, target: str) -> str:
    """Fill in tensors; later ones are likelier."""
    recent = [*names, *[*names][-3:]]
    a, b = rng.choice(recent), rng.choice(recent)
    return template.format(a=a, b=b, v=target, k=rng.randint(1, 4))
