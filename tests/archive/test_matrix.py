"""Programs of every corpus, written by either side and read by either side: equal results.

Some of each corpus here, all of them in the slow tests. `test_stock.py` walks `tests/programs`.
"""

import warnings

import pytest
import torch

import monograph
from monograph.archive.torch_export_limits import unreadable_there
from tests.archive.corpora import Case, cases, made
from tests.archive.peers import loaded, loaded_there, of_this_version, quietly, saved, saved_there
from tests.contract.judging import kept, opened
from tests.contract.known import EXPORTS_REFUSED
from tests.programs.harness import same
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = cases()
EVERY = 10

NO_FORM = of_this_version(
    {
        "a_complex_number": "a complex number among the inputs",
        "a_device": "a device among the inputs",
        "a_dtype": "a dtype among the inputs",
        "a_slice": "a slice among the inputs",
        "a_store_returned": "a class without keys",
        "a_store_that_counts": "a class without keys",
        "additional_inputs": "a class without a name",
        "an_enum": "an enum among the inputs",
        "an_int_without_end": "an int beyond 64 bits, which no file holds",
        "bits_in_common": "an exclusive or of numbers",
        "bits_of_a_datum": "an exclusive or of numbers",
        "BranchOverKeywords": "a keyword as a name",
        "called_by_name": "an exclusive or of numbers",
        "complex_asked": "a complex number among the inputs",
        "complex_of_a_size": "a complex number among the results",
        "counted_with_iterators": "a text among the results",
        "enum_asked": "an enum among the inputs",
        "ExpertsByKeyword": "a keyword as a name",
        "flag_asked": "a flag among the inputs",
        "float_checked": "a condition on a float of the data",
        "masked_sorted": "a result of a class without a name",
        "modules_constant": "a keyword as a name",
        "modules_folded": "a name that Python reads as another",
        "modules_keyword": "a keyword as a name",
        "modules_quote": "a quote in a name",
        "named_tuple": "a class without a name",
        "namedtuple_asked": "a class without a name",
        "one_or_true": "a string among the results",
        "PlainAttributes": "a result that is not a number, and is compared with itself",
        "several_results_of_an_operator": "a result of a class without a name",
        "shapes_within_others": "a class without a name",
        "SharedUnderKeywords": "a keyword as a name",
        "sort": "a result of a class without a name",
        "tensors_constant": "a keyword as a name",
        "tensors_folded": "a name that Python reads as another",
        "tensors_generated": "a name that the code of a graph has",
        "tensors_keyword": "a keyword as a name",
        "tensors_of_graph_modules": "a name that the code of a graph has",
        "tensors_of_the_code": "a name that the code of a graph has",
        "tensors_quote": "a quote in a name",
        "text_of_a_size": "a text among the results",
        "topk": "a result of a class without a name",
        "truths_as_whole_numbers": "a truth as a number",
        "values_beside_tensors": "a dtype among the results",
    }
)
"""What stock files have no form for, or stock's code no name; ours hold it where only we look."""

NOT_SAID = {"a_store_returned", "a_store_that_counts", "float_checked"}
"""Of these, what `save` logs about torch.export's reader."""

NOT_HELD = EXPORTS_REFUSED["loaded"]
"""What no file holds."""

DENSE_THERE = {"last_row_in_a_loop", "last_row_of_rounds_within_rounds", "last_row_of_unbind"}
"""Stock's own `scan` lays out anew what it carries."""

FUNCTORCH = {"mapped_over_a_vector"}
"""Stock's files call functions of functorch, unless the program was lowered."""

BY_POSITION_ALONE = {"a_default_argument"}
"""Stock calls an argument as the example did."""

WITH_LOOPS = {"operators", "branching", "looped"}
"""Torch's own operators trace their bodies again where a gradient may be asked for."""

PICKLED = {"drawn_from_a_generator", "drawn_from_the_default_generator"}
"""Of these, stock's files hold a `torch.Generator`."""

WRITES_PARAMETERS = {"WritesItsParameter", "WritesARowOfItsParameter"}
"""What stock writes at the end, where gradients are asked for, torch refuses."""

NO_ROUND = "index 0 out of range"
"""What torch's own `scan` says to a call without a round."""


def outcome(module, inputs):
    """(the result, the inputs afterwards), or what was raised."""
    reseed(7)
    args, kwargs = inputs()
    reseed(7)
    try:
        with quietly():
            result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return error
    return kept(opened(result, {})), opened((args, kwargs), {})


def outcomes(case: Case, module) -> list:
    """What the calls do, one after the other."""
    return [outcome(module, call) for call in case.calls]


def answers_here(case: Case, expected: list, reader) -> None:
    """What is read here answers alike, and refuses the same calls."""
    for at, (left, right) in enumerate(zip(expected, outcomes(case, reader), strict=True)):
        if isinstance(left, Exception):
            assert isinstance(right, type(left)), f"call {at}: {left!r} became {right!r}"
            continue
        alike(left, right, f"call {at}")


def answers_there(case: Case, expected: list, reader, *, objects: bool) -> None:
    """What is read there answers alike wherever our program answers.

    `objects` is whether it changes the objects that callers pass.
    """
    for at, (call, left) in enumerate(zip(case.calls, expected, strict=True)):
        if isinstance(left, Exception):
            continue
        without = case.corpus in WITH_LOOPS or case.name in WRITES_PARAMETERS
        with torch.set_grad_enabled(not without):
            right = outcome(reader, call)
        if case.corpus in WITH_LOOPS and isinstance(right, IndexError) and NO_ROUND in str(right):
            continue
        alike(left, right, f"call {at}", objects=objects)


def alike(left, right, what: str, *, objects: bool = True) -> None:
    """The same result and the same effects."""
    assert not isinstance(right, Exception), f"{what}: it raises {right!r}"
    same(left[0], right[0], f"the result of {what}")
    if objects:
        same(left[1], right[1], f"the inputs of {what}")


def has_objects(program: monograph.ExportedProgram) -> bool:
    """Whether objects of classes that are not registered go in or out."""
    return "ObjectNode" in f"{program.in_spec}{program.out_spec}"


def written_here(case: Case) -> None:
    """Save here; read here, read there, save there, and read that here."""
    program = case.exported()
    if case.name in NOT_HELD:
        with pytest.raises(monograph.MonographError) as caught:
            saved(program)
        assert caught.value.diagnostic.name == NOT_HELD[case.name]
        return
    content = saved(program)
    is_listed = case.name in NO_FORM.keys() - NOT_SAID or has_objects(program)
    assert bool(unreadable_there(program)) == is_listed
    expected = outcomes(case, program.module())
    answers_here(case, expected, loaded(content).module())
    if case.name in NO_FORM or case.name in BY_POSITION_ALONE:
        return
    if program.contract.changes is not None:
        pytest.skip("it changes objects of its caller, which stock leaves as they are")
    if has_objects(program):
        with pytest.raises(RuntimeError):  # objects of unregistered classes have no form there
            loaded_there(content)
        return
    theirs = loaded_there(content)
    again = saved_there(theirs)
    if case.name not in DENSE_THERE:
        with quietly():
            answers_there(case, expected, theirs.module(), objects=True)
    answers_there(case, expected, loaded(again).module(), objects=True)


def written_there(case: Case) -> None:
    """Save there, read here, save here, read there. Here, more calls are refused."""
    if case.name in PICKLED:
        pytest.skip("stock pickles the generator, and pickles are not read")
    if case.name.startswith("Associative"):
        pytest.skip("read after it was lowered: test_control_flow.py")
    if case.name in NOT_HELD or case.name in FUNCTORCH:
        pytest.skip("no file holds it, or stock's calls functions that are no operators")
    args, kwargs = case.example()
    try:
        with quietly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = torch.export.export(made(case), args, kwargs)
            content = saved_there(theirs)
            # In a file state shares no memory with constants.
            expected = outcomes(case, loaded_there(content).module())
    except Exception:  # noqa: BLE001  whatever keeps the peer from exporting
        pytest.skip("torch.export does not export it, or cannot save or load it")
    ours = loaded(content)
    again = saved(ours)
    for at, (left, right) in enumerate(zip(expected, outcomes(case, ours.module()), strict=True)):
        if isinstance(left, Exception):
            assert isinstance(right, Exception) or case.name in {*BY_POSITION_ALONE, *NO_FORM}
        elif not at or not isinstance(right, monograph.ContractError):
            alike(left, right, f"call {at}")
    if unreadable_there(ours):
        return
    with quietly():
        answers_there(case, expected, loaded_there(again).module(), objects=True)


some = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=f"{case.corpus}-{case.name}",
            marks=[pytest.mark.slow] if index % EVERY else [],
        )
        for index, case in enumerate(CASES)
    ],
)


@some
def test_what_is_written_here_is_read_by_both(case):
    """Results, effects, and here the same refusals."""
    written_here(case)


@some
def test_what_is_written_there_is_read_by_both(case):
    """Results and effects, with the sizes of the example."""
    written_there(case)


def test_there_are_many():
    """All corpora are found, and nobody is listed who is not there."""
    names = {case.name for case in CASES}
    corpora = {case.corpus for case in CASES}
    assert len(CASES) >= 900
    assert len(corpora) == 9
    assert names >= NO_FORM.keys() | BY_POSITION_ALONE


@pytest.mark.parametrize("name", sorted(NO_FORM.keys() - NOT_HELD.keys()))
def test_what_stock_has_no_form_for_is_still_so(name):
    """Each of the exceptions fails there or in what is made of it there."""
    case = next(case for case in CASES if case.name == name)
    program = case.exported()
    content = saved(program)
    expected = outcomes(case, program.module())
    with pytest.raises(Exception):  # noqa: B017, PT012  of many kinds
        theirs = loaded_there(content)
        with quietly():
            answers_there(case, expected, theirs.module(), objects=True)
        answers_there(case, expected, loaded(saved_there(theirs)).module(), objects=True)
