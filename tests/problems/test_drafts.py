"""Each program that runs has a draft, which is right or raises ContractError, at any inputs."""

import pytest
import torch
from torch.utils import _pytree as pytree

from monograph import ContractError, UnsupportedError, draft_export, load, save
from tests.problems.draft_programs import PROGRAMS

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


PLAIN = list(PROGRAMS)[::4]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_draft_is_right_or_refuses(name):
    """Two calls at the example, and one elsewhere, give what eager gives, or are refused."""
    program = PROGRAMS[name]
    check_calls(program, draft_export(program.build(), program.calls[0]()))


@pytest.mark.parametrize("name", PLAIN)
def test_a_draft_of_plain_python_is_right_or_refuses(name):
    """The same where user code is not interpreted."""
    program = PROGRAMS[name]
    check_calls(program, draft_export(program.build(), program.calls[0](), strict=False))


@pytest.mark.parametrize("name", ["Counts", "clock", "number_in_json", "item_formats_a_key"])
def test_a_draft_that_was_saved_refuses_the_same(name, tmp_path):
    """What it assumes, and what it cannot check, is in the file."""
    program = PROGRAMS[name]
    draft = draft_export(program.build(), program.calls[0]())
    save(draft, tmp_path / "draft.pt2")
    again = load(tmp_path / "draft.pt2")
    check_calls(program, again)
    texts = [refusal(each, program.calls[-1]()).splitlines()[0] for each in (draft, again)]
    assert texts[0].startswith(texts[1])
    check_calls(program, draft.run_decompositions())


def test_what_is_not_checked_runs_without_checks():
    """The draft is there to be looked at."""
    program = PROGRAMS["Counts"]
    draft = draft_export(program.build(), program.calls[0]())
    (x,) = program.calls[0]()
    assert torch.equal(draft.module(check_guards=False)(x), x)


@pytest.mark.parametrize("name", ["updates_a_hash", "puts_a_tensor_into_a_queue", "HoldsAHash"])
def test_a_draft_says_which_opaque_object_changes(name):
    """Only the module itself, run as it is, calls it; the draft gives what that gave."""
    program = PROGRAMS[name]
    draft = draft_export(program.build(), program.calls[0]())
    assert "write-outlives-call" in [each.diagnostic.name for each in draft.report.problems]
    assert "is changed here" in refusal(draft, program.calls[0]())
    expected = program.build()(*program.calls[0]())
    torch.testing.assert_close(draft.module(check_guards=False)(*program.calls[0]()), expected)


def test_what_plain_python_cannot_record_is_interpreted_for_a_draft_too():
    """`export` has no problem with it."""

    class Branches(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x - 1

    draft = draft_export(Branches(), (torch.ones(3),), strict=False)
    assert not draft.report.problems
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(draft.module()(x), Branches()(x))


def check_calls(program, draft):
    """Compare sequences of calls, each begun as the module is at first."""
    for makers in [program.calls[:1] * 2, *[(each,) for each in program.calls[1:]]]:
        module, expected = program.build(), []
        for make in makers:
            args = make()
            expected.append((outcome(module, args), args))
        program.build()
        run = draft.module()
        for make, (result, changed) in zip(makers, expected, strict=True):
            args = make()
            actual = outcome(run, args)
            if isinstance(actual, ContractError):
                break
            if isinstance(result, Exception):
                assert isinstance(actual, Exception), result
                continue
            same((result, changed), (actual, args))


def outcome(module, args):
    """What a call gives, or raises."""
    try:
        return module(*args)
    except Exception as error:  # noqa: BLE001 - compared
        return error


def refusal(program, args):
    """The message that a call is refused with."""
    with pytest.raises(ContractError) as caught:
        program.module()(*args)
    return str(caught.value)


def same(expected, actual):
    """Compare results, and what became of the inputs."""
    expected, structure = pytree.tree_flatten(expected)
    actual, other = pytree.tree_flatten(actual)
    assert structure == other
    for one, two in zip(expected, actual, strict=True):
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(two, one, rtol=0, atol=0, equal_nan=True)
        else:
            assert one == two or one != one, two  # noqa: PLR0124 - NaN


class Wrapped(torch.Tensor):
    """A tensor that has another inside, and no memory."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        del types
        plain = [each.inner if isinstance(each, cls) else each for each in args]
        return function(*plain, **(kwargs or {}))


def test_a_result_without_memory_is_refused():
    """Looking for what it shares ended the process."""

    class Wraps(torch.nn.Module):
        def forward(self, x):
            return Wrapped(x * 2)

    with pytest.raises(UnsupportedError) as caught:
        draft_export(Wraps(), (torch.ones(3),))
    assert caught.value.diagnostic.name.startswith("unsupported-")
