"""Programs about sizes agree with eager at sizes unlike the example, or are refused with a repair.

`pytest tests/messages tests/sizes/test_programs.py --accept` rewrites `messages/`.
"""

import linecache
import re
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_map

import monograph
from monograph import MonographError
from monograph.dims import bind
from tests.goldens import compared
from tests.programs.harness import SEED_OF_EXAMPLE, agree, build, inputs_at
from tests.sizes.programs import (  # noqa: F401  importing registers the programs
    conditions,
    constraints,
    declarations,
    documents,
    operators,
)
from tests.sizes.programs.registry import SIZE_PROGRAMS

MESSAGES = Path(__file__).parent / "messages"
CALL = "program = export(module, args, dynamic_shapes=dynamic_shapes)\n"
linecache.cache["call.py"] = (len(CALL), None, [CALL], "call.py")  # a line that messages show
CAPTURED = [each for each in SIZE_PROGRAMS.values() if not each.refused]
REFUSED = [each for each in SIZE_PROGRAMS.values() if each.refused]
REPAIRED = [each for each in REFUSED if each.repaired]
SPECIALISED = [each for each in CAPTURED if each.specialised or "Dim.AUTO" in repr(each.shapes)]


@pytest.fixture(autouse=True)
def _the_examples_way(monkeypatch):
    """Of branches, as where both would cost too much: guards are what is looked at."""
    monkeypatch.setattr("monograph.capture.running.is_worth_it", lambda *_: False)


def over(programs):
    """Parametrise by program."""
    return pytest.mark.parametrize("program", programs, ids=[each.name for each in programs])


def example(program):
    """Give the example's arguments."""
    args, kwargs = inputs_at(program, program.sizes, SEED_OF_EXAMPLE)
    assert not kwargs
    return args


def captured(program, dynamic_shapes=None):
    """Export the program, as declared unless told otherwise."""
    args = example(program)
    declared = program.declaration(args) if dynamic_shapes is None else dynamic_shapes
    names = {"export": monograph.export, "module": build(program), "args": args}
    exec(compile(CALL, "call.py", "exec"), names, called := {"dynamic_shapes": declared})
    return called["program"]


def refusal(program):
    """Export, and give the refusal."""
    with pytest.raises(MonographError) as caught:
        captured(program)
    return caught.value


def problems(error):
    """Give each of the problems that were found together."""
    return getattr(error, "problems", (error,))


def verdicts(program, module, every):
    """Call at each of these sizes."""
    return {str(sizes): agree(program, module, program.sizes | sizes) for sizes in every}


@over(CAPTURED)
def test_agrees_or_refuses_at_every_size(program):
    """The example and what must be accepted agree; what must be refused is; the rest is right."""
    module = captured(program).module()
    assert agree(program, module, program.sizes) == "agrees"
    taken = verdicts(program, module, program.accepts)
    assert set(taken.values()) <= {"agrees"}, taken
    taken = verdicts(program, module, program.refuses)
    assert set(taken.values()) <= {"refused"}, taken
    for sizes in program.sweep():
        verdict = agree(program, module, sizes)
        args, _ = inputs_at(program, sizes, SEED_OF_EXAMPLE)
        if program.is_declared(args, example(program)) and not program.partial:
            assert verdict != "refused", f"{sizes} is within the declaration"


@over(SPECIALISED)
def test_automatic_sizes_that_became_constants_are_reported(program):
    """Exactly those, with the number and a line of the program."""
    found = captured(program).report.specializations
    assert {each.path: each.value for each in found} == program.specialised
    assert all(each.at for each in found)


@over(REFUSED)
def test_refused_under_the_names_expected(program, request):
    """Each problem by its name; the message is the golden one."""
    error = refusal(program)
    names = tuple(each.diagnostic.name for each in problems(error))
    assert names == program.refused, str(error)
    assert f"{program.name}.py" in str(error) or program.placeless
    assert_golden(request, program, error)


@over(CAPTURED)
def test_what_a_program_says_of_its_sizes(program, request):
    """Its guards, what it left out or fixed, and every line that a size was asked for at."""
    assert_golden(request, program, said(captured(program)))


def test_every_golden_message_has_its_program():
    """And the other way round."""
    assert {path.stem for path in MESSAGES.glob("*.md")} == SIZE_PROGRAMS.keys()


@over(REPAIRED)
def test_the_suggested_declaration_exports(program):
    """What the refusal suggests is a declaration of a program that takes the other sizes too."""
    error = refusal(program)
    args = example(program)
    refined = monograph.refine_dynamic_shapes(program.declaration(args), error)
    assert repr(refined) == repr(error.suggested_dynamic_shapes)
    module = captured(program, refined).module()
    assert agree(program, module, program.sizes) == "agrees"
    taken = verdicts(program, module, program.repaired)
    assert set(taken.values()) <= {"agrees"}, taken
    for sizes in program.sweep():
        agree(program, module, sizes)


def assert_golden(request, program, message):
    """The page is as it was accepted."""
    golden = MESSAGES / f"{program.name}.md"
    text = page(program, message)
    if request.config.getoption("--accept", default=False):
        golden.write_text(text, encoding="utf-8")
    assert compared(golden.read_text(encoding="utf-8")) == compared(text)


def said(exported):
    """The contract, the report, and the explanation of each size."""
    facts = exported.facts
    paths = [facts.source_of(symbol) for symbol in facts.symbols if not facts.is_unbacked(symbol)]
    explained = [str(exported.explain(path)) for path in paths]
    return "\n\n".join([str(exported.contract), str(exported.report), *explained])


def page(program, error):
    """The program, its declaration, and the message."""
    args = example(program)
    shown = "".join(
        f"{name}: {described(value)}\n" for name, value in bind(build(program), args, {}).items()
    )
    declared = re.sub(r"<[\w.]*?(\w+) object at \w+>", r"\1(...)", repr(program.declaration(args)))
    return (
        f"# {program.name}\n\n```python program\n{program.source}```\n\n"
        f"```text example\n{shown}dynamic_shapes: {declared}\n```\n\n"
        f"```text\n{error}\n```\n"
    )


def described(value):
    """A value, with tensors by their sizes."""
    return repr(tree_map(lambda each: Sizes(each.shape) if torch.is_tensor(each) else each, value))


class Sizes(list):
    """The sizes of a tensor, which is no list to those who look into lists."""
