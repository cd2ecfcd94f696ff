"""What a branch or a loop gives back of its inputs is these tensors themselves, as in eager."""

import contextlib
import json

import pytest
import torch
from torch import nn

import monograph
from tests.control_flow.looped import Function

ONES = torch.ones(2, 3)


class Cleans(nn.Module):
    """The input itself, where nothing is to be replaced."""

    def forward(self, x, y):
        if x.isnan().any():
            x = x.nan_to_num()
        return x, y


class Chooses(nn.Module):
    """One of two inputs, or a buffer, by nested branches."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(2, 3))

    def forward(self, x, y):
        if y.sum() > 0:
            chosen = self.kept
        elif x.sum() > 0:
            chosen = x
        else:
            chosen = y
        return (chosen,)


class Views(nn.Module):
    """A part of an input."""

    def forward(self, x, y):
        part = x[:1] if y.sum() > 0 else x[1:]
        return part, y[0]


class Swaps(nn.Module):
    """No round, one or two."""

    def forward(self, x, y):
        left, right, n = x, y, y.new_zeros(())
        while left.sum() < n:
            left, right, n = right, left, n - 100
        return left, right


class Returns(nn.Module):
    """Early, with one tensor twice."""

    def forward(self, x, y):
        if x.sum() > 0:
            return x, x
        return x + y, y


def as_captured(program, _):
    """Nothing more."""
    return program


def lowered(program, _):
    """Core ATen."""
    return program.run_decompositions()


def loaded(program, tmp_path):
    """From a file."""
    monograph.save(program, tmp_path / "program.pt2")
    return monograph.load(tmp_path / "program.pt2")


def described(results, held):
    """Which held tensor each result is, whose memory it lies in, and from where on."""
    return [
        (
            [result is each for each in held],
            [
                result.untyped_storage().data_ptr() == each.untyped_storage().data_ptr()
                for each in held
            ],
            [result is each for each in results],
            result.stride(),
            result.storage_offset(),
        )
        for result in results
    ]


@pytest.mark.parametrize("form", [as_captured, lowered, loaded])
@pytest.mark.parametrize("kind", [Cleans, Chooses, Views, Swaps, Returns])
def test_results_are_the_tensors_that_eager_code_gives(kind, form, tmp_path):
    """Identity, memory and layout agree, whichever way a call takes."""
    module = kind()
    run = form(monograph.export(module, (ONES.clone(), ONES.clone())), tmp_path).module()
    for x in (ONES, -ONES, torch.full((2, 3), torch.nan)):
        for y in (ONES, -ONES):
            mine, theirs = (x.clone(), y.clone()), (x.clone(), y.clone())
            got, expected = run(*mine), module(*theirs)
            torch.testing.assert_close(got, expected, equal_nan=True)
            assert described(got, [*mine, *run.buffers()]) == described(
                expected, [*theirs, *module.buffers()]
            )


class SwapsByRow(nn.Module):
    """As many rounds as rows."""

    def forward(self, x, y):
        left, right = y, y.view(3)
        for _ in range(x.shape[0]):
            left, right = right, left
        return left, right


class MayHaveNoRound(nn.Module):
    """With one row the tensor itself."""

    def forward(self, x, y):
        h = y
        for t in range(x.shape[0] - 1):
            h = h + x[t]
        return h, y


class LastRow(nn.Module):
    """Carried, a view of what is gone over."""

    def forward(self, x, y):
        h = y
        for row in x:
            h = row
        return (h,)


class AssignedInRounds(nn.Module):
    """Variables that rounds assign first: a view, an input, and what is made."""

    def forward(self, x, y):
        for t in range(x.shape[0]):
            row, other, new = x[t], y, x[t].view(3, 1).t() * 2
        return row, other, new


class LastItem(nn.Module):
    """Of a list that grows: what is carried too, an input, and nobody else's."""

    def forward(self, x, y):
        states, inputs, others, h = [], [], [], y
        for t in range(x.shape[0]):
            h = torch.tanh(h + x[t])
            others.append(h * 2)
            states.append(h * 3)
            states.append(h)
            inputs.append(y)
        return h, states[-1], inputs[-1], others[-1], torch.stack(states)


@pytest.mark.parametrize("form", [as_captured, lowered, loaded])
@pytest.mark.parametrize("kind", [SwapsByRow, MayHaveNoRound, LastRow, AssignedInRounds, LastItem])
def test_results_of_rounds_are_the_tensors_that_eager_code_gives(kind, form, tmp_path):
    """Whatever the number of rounds."""
    module, shapes = kind(), ({0: monograph.Dim("n", min=1)}, None)
    program = monograph.export(module, (torch.randn(4, 3), torch.randn(3)), dynamic_shapes=shapes)
    run = form(program, tmp_path).module()
    for n in (1, 2, 3, 7):
        mine = (torch.randn(n, 3), torch.randn(3))
        theirs = tuple(each.clone() for each in mine)
        got, expected = run(*mine), module(*theirs)
        torch.testing.assert_close(got, expected)
        assert described(got, mine) == described(expected, theirs)


def asks_in_rounds(x):
    """Each row begins somewhere else."""
    h = x[0] * 0
    for row in x:
        h = h + row.storage_offset()
    return h


def asks_of_what_is_carried(x):
    """The last row's place."""
    h = x[0]
    for row in x:
        h = row
    return h + h.storage_offset()


def asks_of_what_is_born(x):
    """The same of a variable of rounds."""
    for t in range(x.shape[0]):
        h = x[t]
    return h + h.storage_offset()


@pytest.mark.parametrize(
    "function", [asks_in_rounds, asks_of_what_is_carried, asks_of_what_is_born]
)
def test_where_a_row_begins_is_not_told(function):
    """It differs by round, and a program records one."""
    shapes = ({0: monograph.Dim("n", min=1)},)
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Function(function), (torch.randn(4, 3),), dynamic_shapes=shapes)
    assert "branch-decides" in [each.diagnostic.name for each in caught.value.problems]


def test_what_operators_are_given_by_the_user_return_copies():
    """`torch.cond` and `while_loop` have no results that are their inputs."""

    class Conditional(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.clone(), lambda x: x + 1, (x,))

    x = ONES.clone()
    run = monograph.export(Conditional(), (x,)).module()
    assert run(x).data_ptr() != x.data_ptr()


class AsksInRounds(nn.Module):
    """Each round asks what it is given something, and leaves something else."""

    def __init__(self, begin, step, ask, *, by_data=False):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.begin, self.step, self.ask, self.by_data = begin, step, ask, by_data

    def forward(self, x, y):
        v, n = self.begin(self, y), x.new_zeros(())
        if self.by_data:
            while n < x.sum():
                n = n * 3 + (1 if self.ask(v, y) else 2)
                v = self.step(self, v, y)
        else:
            for _ in range(x.shape[0]):
                n = n * 3 + (1 if self.ask(v, y) else 2)
                v = self.step(self, v, y)
        return n, v


def begins_as_input(self, y):
    """The caller's own."""
    return y


def begins_as_parameter(self, y):
    """A leaf that requires gradients."""
    return self.w


def begins_as_made_leaf(self, y):
    """One that forward makes."""
    return torch.ones(3, requires_grad=True)


def computed(self, v, y):
    """Another tensor in each round."""
    return v + 1


def the_input(self, v, y):
    """From the second round on."""
    return y


ASKED = {
    "one": (begins_as_input, computed, lambda v, y: v is y),
    "one from then on": (begins_as_made_leaf, the_input, lambda v, y: v is y),
    "leaf": (begins_as_parameter, computed, lambda v, y: v.is_leaf),
    "made leaf": (begins_as_made_leaf, computed, lambda v, y: v.is_leaf),
    "class": (begins_as_parameter, computed, lambda v, y: isinstance(v, nn.Parameter)),
    "gradients": (begins_as_input, lambda self, v, y: v * self.w, lambda v, y: v.requires_grad),
    "no gradients": (
        begins_as_parameter,
        lambda self, v, y: v.detach(),
        lambda v, y: v.requires_grad,
    ),
    "view": (lambda self, y: y * 2, lambda self, v, y: y[:], lambda v, y: v._is_view()),
    "version": (
        lambda self, y: y * 2,
        lambda self, v, y: v.add_(1),
        lambda v, y: v._version == 0,
    ),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_rounds_ask_of_what_they_are_given(asked):
    """The first answers otherwise than those after it: no recorded round stands for all."""
    given = (torch.ones(2), torch.ones(3))
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(AsksInRounds(*asked, by_data=True), given)
    assert caught.value.diagnostic.name in ("branch-decides", "outside-read")
    if caught.value.diagnostic.name == "outside-read":  # whatever the rounds are
        return
    module = AsksInRounds(*asked)
    sizes = ({0: monograph.Dim.AUTO}, None)
    run = monograph.export(module, given, dynamic_shapes=sizes).module()
    assert run(*given)[0] == module(*given)[0]
    for n in (0, 1, 3):
        with contextlib.suppress(monograph.ContractError):
            assert run(torch.ones(n), given[1])[0] == module(torch.ones(n), given[1])[0]


def test_rounds_may_ask_whether_an_input_is_a_parameter():
    """It is none in any call, so every round says so."""
    module = AsksInRounds(
        begins_as_input, computed, lambda v, y: isinstance(v, nn.Parameter), by_data=True
    )
    run = monograph.export(module, (torch.ones(2), torch.ones(3))).module()
    for x in (torch.ones(2), torch.full((2,), 9.0), -torch.ones(2)):
        assert run(x, torch.ones(3))[0] == module(x, torch.ones(3))[0]
    with pytest.raises(monograph.ContractError):
        run(torch.ones(2), nn.Parameter(torch.ones(3), requires_grad=False))


class LoopsInARegion(nn.Module):
    """Without a round, the input that was written to."""

    def forward(self, x, y):
        with torch.enable_grad():
            y.add_(1)
            v, k = y, 0
            while x.sum() + k < 3:
                k, v = k + 1, v.reshape(v.shape)
        return v, y


class Rotates(nn.Module):
    """After two rounds, the input that was written to."""

    def forward(self, x, y):
        a, b, c, k = y * 2, y * 3, y, 0
        c.add_(1)
        while x.sum() + k < 3:
            a, b, c, k = b, c, a, k + 1
        return a, y


class RotatesOthers(nn.Module):
    """Beside an input that is written to."""

    def forward(self, x, y):
        a, b, c, k = x * 2, x * 3, x, 0
        y.add_(1)
        while y.sum() + k < 3:
            a, b, c, k = b, c, a, k + 1
        return a, y


@pytest.mark.parametrize("kind", [LoopsInARegion, Rotates])
def test_lowering_refuses_what_may_be_an_input_that_is_written_to(kind):
    """Its value is written there at the end, and no result is that tensor."""
    program = monograph.export(kind(), (ONES, ONES))
    with pytest.raises(monograph.MonographError, match="may be an input that is written to"):
        program.run_decompositions()


def test_lowering_takes_rounds_beside_an_input_that_is_written_to():
    """What rounds carry is none of it."""
    module = RotatesOthers()
    run = monograph.export(module, (ONES, ONES)).run_decompositions().module()
    for y in (ONES, -ONES, torch.full((2, 3), -0.75), torch.full((2, 3), -0.9)):
        mine, theirs = (ONES.clone(), y.clone()), (ONES.clone(), y.clone())
        got, expected = run(*mine), module(*theirs)
        torch.testing.assert_close(got, expected)
        assert described(got, mine) == described(expected, theirs)


@pytest.mark.parametrize("mark", ["5", '{"superfluous_copy": 1}', '{"superfluous_copy": true}'])
def test_only_copies_are_left_out(mark):
    """Whatever a file says of another operator."""

    class Adds(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    program = monograph.export(Adds(), (ONES,))
    for module in program.graph_module.children():
        for node in module.graph.nodes:
            node.meta["custom"] = json.loads(mark)
    torch.testing.assert_close(program.module()(ONES), ONES + 1)


class DropsBeforeABranch(nn.Module):
    """One side writes to what a dropout gave, which is the input where that has no elements."""

    def forward(self, x, y):
        dropped = nn.functional.dropout(x, 1.0)
        if y.sum() > 0:
            dropped += y.sum()
        return (dropped,)


class DropsInInferenceMode(nn.Module):
    """No inference tensor where it is the input."""

    def forward(self, x, y):
        with torch.inference_mode():
            dropped = nn.functional.dropout(x, 1.0)
            other = nn.functional.dropout(y * 2, 1.0)
        return dropped, other


@pytest.mark.parametrize(
    ("kind", "line"),
    [(DropsBeforeABranch, "dropped += y.sum()"), (DropsInInferenceMode, "dropout(x, 1.0)")],
)
def test_a_dropout_gives_an_input_itself_or_needs_elements(kind, line):
    """A copy, or an inference tensor, may take its place only where it is another tensor."""
    module, shapes = kind(), ({0: monograph.Dim("n", min=0)}, None)
    program = monograph.export(module, (torch.ones(2, 3), ONES), dynamic_shapes=shapes)
    for n in (1, 2, 5):
        got, expected = (run(torch.ones(n, 3), ONES) for run in (program.module(), module))
        torch.testing.assert_close(got, expected)
        assert [t.is_inference() for t in got] == [t.is_inference() for t in expected]
    with pytest.raises(monograph.ContractError) as caught:
        program.module()(torch.ones(0, 3), ONES)
    assert line in caught.value.text()


class WritesOrReplaces(nn.Module):
    """A side writes to the input, the others make another; a copy or not is asked afterwards."""

    def forward(self, x, y):
        rounds = 0
        while rounds < y.shape[0]:
            rounds += 1
            if y.size(0) == 3:
                x.mul_(2)
            elif x.shape[-1] % 2 == 0:
                x = x.tanh()
            x = x.contiguous()
        return (x,)


@pytest.mark.parametrize("form", [as_captured, lowered, loaded])
def test_a_merge_that_was_given_up_leaves_nothing_behind(form, tmp_path):
    """Neither a write without a result, nor an input that counts as written to."""
    module, auto = WritesOrReplaces(), dict.fromkeys(range(2), monograph.Dim.AUTO)
    example = torch.randn(1, 2), torch.randn(1, 2)
    program = form(monograph.export(module, example, dynamic_shapes=(auto, auto)), tmp_path)
    assert not program.graph_signature.user_inputs_to_mutate
    for sizes in ((1, 2), (4, 5)):
        mine = torch.randn(sizes), torch.randn(1, 2)
        theirs = tuple(each.clone() for each in mine)
        got, expected = program.module()(*mine), module(*theirs)
        torch.testing.assert_close((got, mine), (expected, theirs))
        assert described(got, mine) == described(expected, theirs)


class WritesBeneathALeaf(nn.Module):
    """A write by `.data` on one side."""

    def forward(self, x, y):
        if y.sum() > 0:
            x.data.add_(1)
        return y


def test_elements_in_one_place_are_refused_also_where_the_example_is_a_leaf():
    """PyTorch raises where one side writes to them; a program writes in any case."""
    program = monograph.export(WritesBeneathALeaf(), (torch.ones(3, requires_grad=True), ONES))
    program.module()(torch.ones(3, requires_grad=True), ONES)
    for y in (ONES, -ONES):
        with pytest.raises(monograph.ContractError, match="overlap"):
            program.module()(torch.ones(1).expand(3), y)


class LooksUpOnOneSide(nn.Module):
    """The side that the example does not take needs the size as a plain number."""

    def forward(self, x):
        n = x.shape[0]
        if n > 2:
            return x * 1
        return x * [5, 6, 7][n]


@pytest.mark.parametrize("strict", [True, False])
def test_a_size_is_not_fixed_to_an_example_that_a_side_excludes(strict):
    """The other side is not run with the example's size."""
    shapes = ({0: monograph.Dim.AUTO},)
    program = monograph.export(
        LooksUpOnOneSide(), (torch.ones(4, 3),), dynamic_shapes=shapes, strict=strict
    )
    for n in (0, 1, 2):
        with pytest.raises(monograph.ContractError):
            program.module()(torch.ones(n, 3))
    assert program.module()(torch.ones(3, 3)).shape == (3, 3)
    declared = ({0: monograph.Dim("n", min=0, max=9)},)
    with pytest.raises(monograph.MonographError, match="takes only"):
        monograph.export(
            LooksUpOnOneSide(), (torch.ones(4, 3),), dynamic_shapes=declared, strict=strict
        )


def _is_true(x):
    return x * 2 if (x.sum() > 0).item() is True else x * 3


def _is_not_false(x):
    return x * 2 if (x.sum().item() > 0) is not False else x * 3


def _matches(x):
    match (x.sum() > 0).item():
        case True:
            return x * 2
        case _:
            return x * 3


def _is_any(x):
    t = (x.sum() > 0).item()
    return x * 2 if any(t is each for each in (True,)) else x * 3


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("function", [_is_true, _is_not_false, _matches, _is_any])
def test_whether_a_condition_on_data_is_true_itself_is_asked_when_the_program_runs(
    function, strict
):
    """Plain Python does not show that it asks."""

    class Asks(torch.nn.Module):
        def forward(self, x):
            return function(x)

    program = monograph.export(Asks(), (torch.ones(3),), strict=strict).module()
    for x in (torch.ones(3), -torch.ones(3)):
        assert torch.equal(program(x), function(x))
