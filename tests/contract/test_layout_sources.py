"""Questions about layout guard the inputs whose layout they reach, and no others."""

import io

import pytest
import torch
from torch import nn

import monograph
from monograph import ContractError


class Asks(nn.Module):
    """Adds what a function says of two tensors."""

    def __init__(self, ask):
        super().__init__()
        self.ask = ask
        self.table = nn.Embedding(9, 4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x, y):
        return x.sum() + y.sum() + (1 if self.ask(self, x, y) else 2)


def square():
    """A matrix that lies in rows."""
    return torch.arange(16.0).reshape(4, 4)


def tried(tensor):
    """Whether a view can be taken."""
    try:
        tensor.view(-1)
    except RuntimeError:
        return False
    return True


def loaded(program):
    """The program, saved and read back."""
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return monograph.load(file)


def tried_as(tensor, *sizes):
    """Whether a view of these sizes can be taken."""
    try:
        tensor.view(*sizes)
    except RuntimeError:
        return False
    return True


def exported(ask, *args, **options):
    """The module and its program."""
    return Asks(ask), monograph.export(Asks(ask), args or (square(), square()), **options).module()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "ask",
    [
        lambda _, x, y: x.is_contiguous(),
        lambda _, x, y: x.stride(0) == 4,
        lambda _, x, y: x.storage_offset() == 0 and x.stride()[0] == 4,
        lambda _, x, y: (x * 2).is_contiguous(),
        lambda _, x, y: x[1:].relu().is_contiguous(),
        lambda m, x, y: (m.linear(y) + x).is_contiguous(),
        lambda _, x, y: tried(x),
        lambda _, x, y: tried(x + 1),
    ],
)
def test_only_what_is_asked_must_lie_as_the_example(ask, strict):
    """The other tensor lies anyhow."""
    module, program = exported(ask, strict=strict)
    x, y = square(), square()
    assert torch.equal(program(x, y.T), module(x, y.T))
    with pytest.raises(ContractError):
        program(x.T, y)


@pytest.mark.parametrize(
    "ask",
    [
        lambda _, x, y: (x + y).is_contiguous(),
        lambda _, x, y: torch.where(y > 3, x, y).is_contiguous(),
        lambda _, x, y: torch.cat([x[None, None], y[None, None]]).is_contiguous(),
        lambda _, x, y: tried(torch.stack([y * 2, x * 2]).flip(0)[0] + x + y),
    ],
)
def test_what_follows_both_guards_both(ask):
    """Results of elementwise operators and of those that nobody knows follow all arguments."""
    _, program = exported(ask)
    x, y = square(), square()
    for given in ((x.T, y), (x, y.T)):
        with pytest.raises(ContractError):
            program(*given)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m, x, y: m.linear(x + y).is_contiguous(),
        lambda m, x, y: (x @ m.linear.weight).softmax(0).stride(0) == 4,
        lambda m, x, y: tried(m.table(x.long() % 9)),
        lambda m, x, y: m.linear.weight.is_contiguous(),
        lambda _, x, y: torch.zeros(x.shape).is_contiguous(),
        lambda _, x, y: x.sum().is_contiguous(),
        lambda _, x, y: torch.cat([x, y]).is_contiguous(),
        lambda _, x, y: tried(torch.stack([y * 2, x * 2]).sum(0)),
        lambda _, x, y: tried((x * x.shape[0] @ y).topk(2)[0]),
        lambda _, x, y: tried((x + y).contiguous()),
        lambda _, x, y: (x + y).clone(memory_format=torch.contiguous_format).stride(0) == 4,
        lambda _, x, y: x.argsort(0)[0].clone().is_contiguous(),
        lambda _, x, y: (x @ y).view_as(x).add_(x).is_contiguous(),
        lambda _, x, y: tried_as(x, 4, 2, 2) and tried_as(y, 4, -1) and tried_as(y, 1, 4, 4),
    ],
)
def test_what_is_made_in_rows_guards_nothing(ask):
    """Some results lie in rows, however their arguments lie."""
    module, program = exported(ask)
    x, y = square(), square()
    with torch.no_grad():
        assert torch.equal(program(x.T, y.T), module(x.T, y.T))


class Tries(nn.Module):
    """As models of texts do: a view within a `try`."""

    def __init__(self, of_table):
        super().__init__()
        self.table = nn.Embedding(9, 4)
        self.of_table = of_table

    def forward(self, ids):
        found = self.table(ids) if self.of_table else ids[..., None] + 0
        try:
            return found.view(found.shape[0], -1)
        except TypeError as error:
            raise TypeError from error


@pytest.mark.parametrize("of_table", [False, True])
def test_strides_of_dimensions_of_size_one_are_not_compared(of_table):
    """The last token of a text, as generation gives it."""
    ids = torch.randint(0, 9, (1, 6))
    module = Tries(of_table)
    program = monograph.export(module, (ids,), dynamic_shapes="ids: b, s").module()
    assert torch.equal(program(ids[:, -1:]), module(ids[:, -1:]))
    assert torch.equal(program(ids[:, :3].clone()), module(ids[:, :3].clone()))
    texts = torch.randint(0, 9, (3, 6))
    cut = texts[:, :4] if of_table else texts
    assert torch.equal(program(cut), module(cut))


def test_numbers_are_compared_in_dimensions_of_size_one():
    """Whoever is told a stride may compute with it."""
    _, program = exported(lambda _, x, y: x.stride(0) == 4, torch.ones(1, 4), square())
    program(torch.ones(1, 4), square())
    with pytest.raises(ContractError):
        program(torch.ones(4).as_strided((1, 4), (7, 1)), square())


class Rounds(nn.Module):
    """Asks within a branch on data."""

    def forward(self, x, y):
        if x.sum() > 0:
            z = x * 2
            return z + 1 if z.is_contiguous() else z + 2
        return x + y


def test_a_question_within_a_branch_is_guarded():
    """What a subgraph takes stands for what it is given."""
    x, y = square(), square()
    program = monograph.export(Rounds(), (x, y)).module()
    assert torch.equal(program(x, y), Rounds()(x, y))
    with pytest.raises(ContractError):
        program(x.T, y)


IMAGE = torch.arange(32.0).reshape(2, 1, 4, 4)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "ask",
    [
        lambda _, x, y: torch.cat([x, x], 1).is_contiguous(),
        lambda _, x, y: nn.functional.interpolate(torch.cat([x, x], 1), size=8).is_contiguous(),
        lambda _, x, y: tried(nn.functional.conv2d(x, torch.ones(3, 1, 1, 1))),
        lambda _, x, y: tried(nn.functional.conv2d(x.relu()[:, :], torch.ones(3, 1, 1, 1))),
    ],
)
def test_memory_formats_are_read_off_strides_of_dimensions_of_size_one(ask, strict):
    """Images of one channel are contiguous in two formats; what follows their format is not."""
    module, program = exported(ask, IMAGE, square(), strict=strict)
    assert torch.equal(program(IMAGE.clone(), square()), module(IMAGE, square()))
    with pytest.raises(ContractError):
        program(IMAGE.as_strided(IMAGE.shape, (16, 1, 4, 1)), square())


def test_elementwise_operators_of_contiguous_tensors_keep_their_form():
    """Strides of dimensions of size 1 do not reach what is contiguous however they are."""
    module, program = exported(
        lambda _, x, y: tried((x + y).to(torch.float64).relu()[1:]), IMAGE, square()
    )
    odd = IMAGE.as_strided(IMAGE.shape, (16, 1, 4, 1))
    assert torch.equal(program(odd, square()), module(odd, square()))


@pytest.mark.parametrize(
    "ask",
    [
        lambda _, x, y: x[1:].storage_offset() == 4,
        lambda _, x, y: x.t().diagonal(1).storage_offset() == 4,
        lambda _, x, y: x[1, 2].storage_offset() == 6,
    ],
)
def test_the_offset_of_a_view_follows_strides(ask):
    """Where it begins depends on how far apart rows are."""
    module, program = exported(ask)
    x, y = square(), square()
    assert torch.equal(program(x, y.T), module(x, y.T))
    for given in (x.T, torch.zeros(4, 6)[:, :4], torch.zeros(17)[1:].view(4, 4)):
        with pytest.raises(ContractError):
            program(given, y)


def complex_pairs(tensor):
    """Whether pairs of elements are complex numbers."""
    try:
        torch.view_as_complex(tensor.unflatten(1, (2, 2)))
    except RuntimeError:
        return False
    return True


def test_a_complex_view_that_is_tried_guards_strides_and_offset():
    """It needs pairs that begin at an even place."""
    _, program = exported(lambda _, x, y: complex_pairs(x))
    for given in (square().T, torch.zeros(17)[1:].view(4, 4)):
        with pytest.raises(ContractError):
            program(given, square())


def test_a_view_under_finally_alone_guards_nothing():
    """What it raises goes on to the caller, as from the program."""

    def ends(_, x, y):
        try:
            return x.view(-1).dim() == 1
        finally:
            y.sum()

    module, program = exported(ends)
    x, y = square(), square()
    assert torch.equal(program(x, y.T), module(x, y.T))


def test_a_view_under_finally_that_returns_guards_strides():
    """It drops what the view raises."""

    def ends(_, x, y):
        told = y.sum()
        try:
            told = x.view(-1).sum() * 2
        finally:
            return told  # noqa: B012 - that is what is asked

    _, program = exported(ends)
    with pytest.raises(ContractError):
        program(square().T, square())


class TriesInBranch(nn.Module):
    """Tries a view on one side of a branch on data alone, and uses nothing of it."""

    def forward(self, x, y):
        z = x.sum() > 1e6 if x.sum() > 0 else tried(y * 2)
        return x.sum() * (2 if z is True else 3)


def test_a_view_that_a_branch_tries_guards_inputs():
    """Whether anything is left of the branch or not."""
    x, y = square(), square()
    program = monograph.export(TriesInBranch(), (-x, y)).module()
    assert torch.equal(program(-x, y), TriesInBranch()(-x, y))
    with pytest.raises(ContractError):
        program(-x, y.T)


class Replaces(nn.Module):
    """Asks a buffer how it lies, and puts another tensor in its place."""

    def __init__(self, change):
        super().__init__()
        self.change = change
        self.register_buffer("held", square())

    def forward(self, x):
        told = 2 if (self.held + 1).is_contiguous() else 3
        self.held = self.change(x)
        return x.sum() * told


def test_a_buffer_that_is_asked_and_replaced_guards_what_replaces_it():
    """The next call would be told how that lies."""
    module = Replaces(lambda x: x * 2)
    program = monograph.export(module, (square(),)).module()
    assert torch.equal(program(square()), module(square()))
    with pytest.raises(ContractError):
        program(square().T)
    with pytest.raises(monograph.MonographError, match="held"):
        monograph.export(Replaces(lambda x: x.t() * 2), (square(),))


@pytest.mark.parametrize(
    ("ask", "given", "edit"),
    [
        (lambda x: x.is_contiguous(), square().T, "x = x.contiguous()"),
        (lambda x: tried(x), square()[:, :3], "x = x.contiguous()"),
        (
            lambda x: x.stride(0) == 4,
            torch.zeros(1, 9)[:, ::2],
            "x = x.contiguous()",
        ),
        (
            lambda x: x.stride(0) == 3,
            torch.zeros(1, 9)[:, :3],
            "x = x.clone(memory_format=torch.contiguous_format)",
        ),
        (
            lambda x: x.storage_offset() == 0,
            torch.zeros(17)[1:].view(4, 4),
            "x = x.clone(memory_format=torch.contiguous_format)",
        ),
    ],
)
def test_a_broken_layout_is_said_with_its_line_and_its_edit(ask, given, edit):
    """Applied, the edit mends the call; in a file, too."""
    example = torch.zeros(given.shape)
    program = monograph.export(Asks(lambda _, x, y: ask(x)), (example, example))
    for form in (program, loaded(program)):
        run = form.module()
        with pytest.raises(ContractError) as refused:
            run(given, example)
        text = str(refused.value)
        assert "this line needs it" in text
        assert "test_layout_sources.py" in text
        (help_,) = [each for each in refused.value.diagnostic.helps if each.code]
        assert help_.code == edit
        names = {"x": given, "torch": torch}
        exec(help_.code, names)
        run(names["x"], example)


def test_an_example_that_lies_as_no_copy_does():
    """Then the export must be another."""
    program = monograph.export(Asks(lambda _, x, y: x.is_contiguous()), (square().T, square()))
    with pytest.raises(ContractError, match="export with an example of `x` that lies as calls"):
        program.module()(square(), square())


class Streams(nn.Module):
    """Does something with a buffer, and puts what has gaps, or lies otherwise, in its place."""

    def __init__(self, use, change=lambda x: torch.cat([x * 2, x * 3], 1)[:, 1:5]):
        super().__init__()
        self.use, self.change = use, change
        self.register_buffer("held", square())

    def forward(self, x):
        told = self.use(self.held, x)
        self.held = self.change(x)
        return told


@pytest.mark.parametrize(
    "use",
    [
        lambda held, x: held.view(-1) + 1,
        lambda held, x: held.as_strided((2,), (3,)) * 2,
        lambda held, x: held.reshape(-1).add_(1) + held.sum(),
        lambda held, x: held.flatten(),
        lambda held, x: held[1:].view(-1) * x.sum(),
        lambda held, x: held.storage_offset() + x,
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_buffer_whose_layout_decides_is_not_replaced_by_what_lies_otherwise(use, strict):
    """`view` raises in the next call of the module, `as_strided` reads, `reshape` copies."""
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Streams(use), (square(),), strict=strict)
    assert caught.value.diagnostic.name == "buffer-reshaped"


@pytest.mark.parametrize(
    "use",
    [
        lambda held, x: torch.cat([held, x]),
        lambda held, x: held * x,
        lambda held, x: torch.einsum("ij,kj->ik", held, x),
        lambda held, x: held.view(4, 4, 1).sum(-1),
        lambda held, x: held.reshape(-1) * 2,
        lambda held, x: (held @ x).view(-1),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_a_buffer_that_is_computed_with_may_be_replaced_by_what_has_gaps(use, strict):
    """As streaming models keep the end of what they have read."""
    program = monograph.export(Streams(use), (square(),), strict=strict).module()
    module = Streams(use)
    for n in range(3):
        actual, expected = (each(square() + n) for each in (program, module))
        torch.testing.assert_close(actual, expected)
        assert actual.stride() == expected.stride()


def test_what_is_computed_from_a_buffer_guards_the_order_of_what_replaces_it():
    """The next result would lie like that."""
    ways = (lambda held, x: held * x.sum(), lambda x: x * 2)
    program = monograph.export(Streams(*ways), (square(),)).module()
    assert torch.equal(program(square()), Streams(*ways)(square()))
    with pytest.raises(ContractError):
        program(square().T)
    with pytest.raises(monograph.MonographError, match="held"):
        monograph.export(Streams(lambda held, x: held * 2, lambda x: (x * 2).t()), (square(),))
