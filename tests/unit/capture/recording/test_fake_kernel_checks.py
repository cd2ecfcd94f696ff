"""Fake kernels of custom operators: sizes that only data tells, and broken promises."""

import io

import pytest
import torch

import monograph
from monograph.diagnostics import MonographError
from tests.programs.texts import Texted

BOTH = pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])


@torch.library.custom_op("promises::places", mutates_args=())
def places(x: torch.Tensor) -> torch.Tensor:
    """Where x is not zero."""
    return x.nonzero().clone()


@places.register_fake
def _(x):
    count = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty([count, x.dim()], dtype=torch.int64)


@torch.library.custom_op("promises::chosen", mutates_args=())
def chosen(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Places, values and how many."""
    found = x.nonzero()[:, 0]
    return found.clone(), x[found], int(found.numel())


@chosen.register_fake
def _(x):
    count = torch.library.get_ctx().new_dynamic_size(min=1, max=8)
    return x.new_empty([count], dtype=torch.int64), x.new_empty([count]), count


@torch.library.custom_op("promises::count", mutates_args=())
def count(x: torch.Tensor) -> int:
    """How many are positive."""
    return int((x > 0).sum())


@count.register_fake
def _(x):
    with pytest.warns(FutureWarning):
        return torch.library.get_ctx().create_unbacked_symint()


@torch.library.custom_op("promises::trusted", mutates_args=())
def trusted(x: torch.Tensor, kind: str) -> tuple[torch.Tensor, int]:
    """Breaks its promise, in some way."""
    result = {"shorter": x[1:].clone(), "double": x.double()}.get(kind, x.clone())
    return result, 4 if kind == "number" else 3


@trusted.register_fake
def _(x, kind):
    return torch.empty_like(x), 3


def module(forward):
    """A module that calls a function."""
    return type("M", (torch.nn.Module,), {"forward": staticmethod(forward)})()


def forms(program):
    """Everything that a program can be called as."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    yield program.module()
    yield program.run_decompositions().module()
    yield monograph.load(file).module()
    yield monograph.unflatten(program)
    yield Texted(program).module()


FAILURES = (RuntimeError, AssertionError)
"""What programs raise, and what their text does."""
MIXED, NOTHING, ALL = torch.tensor([1.0, 0.0, 2.0]), torch.zeros(3), torch.ones(3)


def twice(x):
    """Two calls have two sizes."""
    a, b = places(x), places(-x[:2])
    return a.shape[0] + b.shape[0], torch.cat([a, b]), x[a[:, 0]]


def counted(x):
    """A number that an operator returns is a size."""
    n = count(x)
    return torch.zeros(n), x[:n], n


@BOTH
@pytest.mark.parametrize("forward", [twice, counted])
def test_sizes_of_fake_kernels_depend_on_data(forward, strict):
    """Every form agrees with eager, for nothing and for everything."""
    program = monograph.export(module(forward), (MIXED,), strict=strict)
    for run in forms(program):
        for x in (MIXED, NOTHING, ALL):
            torch.testing.assert_close(run(x), forward(x))


def test_bounds_of_fake_kernels_are_asserted():
    """What the kernel says of a size is compared with what there is."""

    def forward(x):
        at, values, n = chosen(x)
        return at * 2, torch.zeros(n) + values

    for run in forms(monograph.export(module(forward), (MIXED,))):
        torch.testing.assert_close(run(MIXED), forward(MIXED))
        with pytest.raises(FAILURES, match=r"a\s+size\s+of\s+promises::chosen\s+>=\s+1"):
            run(NOTHING)


@pytest.mark.parametrize("least", [-1, 9])
def test_impossible_bounds_are_refused(least):
    """As torch refuses them, or because they contradict each other."""
    name = f"promises::impossible_{least + 1}"

    @torch.library.custom_op(name, mutates_args=())
    def impossible(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @impossible.register_fake
    def _(x):
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(min=least, max=8))

    with pytest.raises(MonographError) as raised:
        monograph.export(module(impossible), (MIXED,))
    assert raised.value.diagnostic.name == "operator-refused-types"


@BOTH
@pytest.mark.parametrize("kind", ["shorter", "double", "number"])
def test_a_broken_promise_is_noticed(kind, strict):
    """Sizes, dtypes and numbers other than promised raise when the program runs."""

    def forward(x):
        y, n = trusted(x, kind)
        return x * y.shape[0], n

    program = monograph.export(module(forward), (MIXED,), strict=strict)
    for run in forms(program):
        with pytest.raises(FAILURES, match=r"promise|mismatch"):
            run(MIXED)
    with pytest.raises(RuntimeError, match="promises::trusted"):
        program.module()(MIXED)


def test_a_promise_with_symbolic_sizes():
    """A size of the result follows the argument's, or raises."""

    @torch.library.custom_op("promises::padded", mutates_args=())
    def padded(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(max(2 * len(x), 6))

    @padded.register_fake
    def _(x):
        return x.new_empty(2 * x.shape[0])

    program = monograph.export(
        module(lambda x: padded(x) + 1), (ALL,), dynamic_shapes={"x": {0: monograph.Dim("n")}}
    )
    run = program.module()
    assert torch.equal(run(torch.ones(5)), torch.ones(10))
    expected = r"`promises::padded` returned float32\[6\], its fake kernel promises float32\[4\]"
    with pytest.raises(RuntimeError, match=expected):
        run(torch.ones(2))


def test_halves_of_programs_keep_promises():
    """A dtype that is converted is promised as converted."""
    program = monograph.export(module(lambda x: trusted(x, "")[0] * 2), (MIXED,))
    half = program.transform(monograph.passes.to_dtype(torch.float64))
    assert torch.equal(half.module()(MIXED.double()), MIXED.double() * 2)
