"""Custom operators are captured as eager runs them; mistakes in them are found, with a repair."""

import io

import pytest
import torch

import monograph
from tests.custom.programs import GOLDEN, MISTAKES, PROGRAMS, Model, bare, bare_found, message
from tests.laws.exporting import difference_of, seen
from tests.seeding import reseed


def shapes(inputs):
    """Every first size is left open."""
    return {"inputs": tuple({0: monograph.Dim.AUTO} for _ in inputs)}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_eager(name, dynamic, strict):
    """For the example and, with open sizes, for others; after decomposition too."""
    case = PROGRAMS[name]
    reseed(0)
    inputs = case.inputs(case.sizes[0])
    declared = shapes(inputs) if dynamic else None
    program = monograph.export(Model(case.forward), inputs, dynamic_shapes=declared, strict=strict)
    forms = [program.module(), program.run_decompositions().module()]
    for size in case.sizes if dynamic else case.sizes[:1]:
        given = case.inputs(size)
        expected = seen(Model(case.forward), given, {})
        assert not isinstance(expected, Exception), expected
        for form in forms:
            actual = seen(form, given, {})
            assert not isinstance(actual, Exception), actual
            assert not difference_of(expected, actual), (size, difference_of(expected, actual))


def test_gradients_follow_the_formula():
    """A registered formula is used when the program is differentiated."""
    case = PROGRAMS["with_a_gradient"]
    inputs = case.inputs(4)
    program = monograph.export(Model(case.forward), inputs).module()
    program(*inputs).sum().backward()
    mine, inputs[0].grad = inputs[0].grad, None
    Model(case.forward)(*inputs).sum().backward()
    torch.testing.assert_close(mine, inputs[0].grad)


def test_a_formula_takes_the_operator_apart():
    """What `decompose` registered is what `run_decompositions` uses."""
    case = PROGRAMS["a_rule_in_place_of_a_fake_kernel"]
    program = monograph.export(Model(case.forward), case.inputs(4))
    assert "own.ruled" in str(program.graph)
    lowered = str(program.run_decompositions().graph)
    assert "own.ruled" not in lowered
    assert "aten.cat" in lowered


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_have_their_messages(name):
    """The message stands in golden/; rewrite them with `python -m tests.custom.programs`."""
    assert message(MISTAKES[name]) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def offered(error):
    """The fake kernel that a message offers, as a function."""
    code = next(h for h in error.diagnostic.helps if "def fake" in h).partition("\n")[2]
    made = {"torch": torch}
    exec(code.partition("\n")[2], made)
    return made["fake"]


@pytest.mark.parametrize(
    ("op", "forward"),
    [(bare, lambda x: bare(x, 3) + 1), (bare_found, lambda x: bare_found(x)[0].sum())],
)
def test_the_offered_fake_kernel_works(op, forward, monkeypatch):
    """Pasted, it makes the export go through, and the program right at other sizes."""
    x = torch.randn(4, 3, generator=torch.manual_seed(0))
    with pytest.raises(monograph.UnsupportedError) as caught:
        monograph.export(Model(forward), (x,))
    fake = offered(caught.value)
    name = f"own::{op._name}_repaired"
    again = torch.library.custom_op(name, op._init_fn, mutates_args=())
    again.register_fake(fake)
    monograph.check_custom_op(again, (x,))
    repaired = (lambda x: again(x, 3) + 1) if op is bare else (lambda x: again(x)[0].sum())
    program = monograph.export(Model(repaired), (x,), dynamic_shapes=shapes((x,))).module()
    for n in (4, 6, 1):
        other = torch.randn(n, 3)
        torch.testing.assert_close(program(other), forward(other))


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_operators_pass_the_check(name):
    """`check_custom_op` has nothing to say of the operators of right programs."""
    case = PROGRAMS[name]
    called = []

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func.namespace == "own":
                called.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    with torch.no_grad(), Watch():
        case.forward(*(t.detach() for t in case.inputs(4)))
    for func, args, kwargs in called:
        monograph.check_custom_op(func, args, kwargs)


def test_promised_numbers_are_compared_in_files():
    """A program that is saved and loaded compares truths and fractions, too."""
    case = PROGRAMS["truths_and_fractions"]
    inputs = case.inputs(4)
    file = io.BytesIO()
    monograph.save(monograph.export(Model(case.forward), inputs), file)
    loaded = monograph.load(file).module()
    assert str(loaded(*inputs)) == str(case.forward(*inputs))
