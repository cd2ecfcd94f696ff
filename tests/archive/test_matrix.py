"""Programs of every corpus, written by either side and read by either side: equal results.

They go as they are captured, and lowered. Some of each corpus here, all of them in the slow tests.
`test_stock.py` walks `tests/programs`.
"""

from dataclasses import dataclass, replace
from itertools import count

import pytest
import torch
from torch.utils import _pytree as pytree

import monograph
from monograph.archive.torch_export_limits import unreadable_there
from monograph.diagnostics import ArchiveError
from monograph.program import OutputKind
from tests.archive.corpora import Case, cases, made
from tests.archive.peers import loaded, loaded_there, of_this_version, quietly, saved, saved_there
from tests.archive.test_stock import every_dim_there
from tests.contract.judging import gradients, kept, opened
from tests.contract.known import EXPORTS_REFUSED
from tests.programs.harness import aliases, same
from tests.seeding import reseed
from tests.state.surroundings import table_of

pytestmark = pytest.mark.filterwarnings("ignore")

CASES = cases()
LOWERED = [replace(case, lowered=True) for case in CASES if not case.lowered]
VARYING = [
    replace(case, lowered=lowered)
    for case in CASES
    if case.varies
    for lowered in sorted({case.lowered, True})
]
EVERY, EVERY_LOWERED = 10, 60


@pytest.fixture(autouse=True)
def _no_table_of_others():
    """torch.export leaves what is no tensor of eager code's in functions under `lru_cache`."""
    table_of.cache_clear()


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

NOT_LOWERED = {**EXPORTS_REFUSED["decomposed"], "BufferTransposedAndBack": "not-functional"}
"""What has no graph without writes."""

DENSE_THERE = {"last_row_in_a_loop", "last_row_of_rounds_within_rounds", "last_row_of_unbind"}
"""Stock's own `scan` lays out anew what it carries."""

FUNCTORCH = {"mapped_over_a_vector"}
"""Stock's files call functions of functorch, unless the program was lowered."""

BY_POSITION_ALONE = {"a_default_argument"}
"""Stock calls an argument as the example did."""

DETACHED_THERE = {"UnregisteredModules", "Tied"}
"""Stock follows no gradients to constants, and to parameters of two names through one of them."""

NOT_READ_LOWERED = {
    "writes_to_views_in_a_list": "writes to a tensor by two arguments",
}
"""What our reader refuses of stock: its wrapper of operators that write."""

NOT_READ_OPEN = {"two_to_the_size": "needs pow by more than 64"}
"""What it refuses where sizes vary: numbers without end."""

REGIONS = {"operators", "branching", "looped"}
"""Corpora of branches and loops. Of these, torch's own operators copy what they return of inputs,
ask for gradients of all results where one does, and give zeros for those that are not used."""

NO_GRADIENT_THERE = {
    "AsksForGradientsAfterAWrite": "a side writes to what it was given",
    "BatchNormInBranch": "statistics of a batch norm are followed",
    "GreedyDecode": "a number is carried",
    "LSTMLoop": "sizes of slices by a number that is carried",
    "LayersOfLoops": "sizes of slices by a number that is carried",
    "LoopWithParameters": "the gradient of what begins without one is lost from round to round",
    "StateFromNone": "sizes of slices by a number that is carried",
    "Stateful": "sizes of slices by a number that is carried",
}
"""Of these, torch's own operators give no gradient, or a wrong one, as they do in eager code."""

UNWRITTEN_THERE = {"in_and_out_of_training"}
"""Lowered by stock, the gradient of `rrelu` in training reads memory that nobody wrote."""

PICKLED = {"drawn_from_a_generator", "drawn_from_the_default_generator"}
"""Of these, stock's files hold a `torch.Generator`."""

WRITES_PARAMETERS = {
    *("WritesItsParameter", "WritesARowOfItsParameter", "ParameterScaled", "ParameterData"),
    *("ParameterWritten", "DataWrittenBefore", "written_beneath_its_history"),
}
"""What stock writes at the end, where gradients are asked for, torch refuses."""

WRITTEN_AT_THE_END = {
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
}

OF_ANOTHER_RANK = {"rank_of_a_varying_tensor"}
"""Torch's guards ask for sizes that a vector lacks, or there are none: what ran before decides."""
NO_ROUND = "index 0 out of range"
"""What torch's own `scan` says to a call without a round."""

OVERLAPS = "expected memory apart from"
"""What our reader says to memory that stock's file writes to at its end: it knows no order."""

BELOW_TWO = "expected at least 2"
"""What our reader says to sizes that stock's file excludes, and stock does not ask for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a caller sees of one call: tensors are copies, the rest is by the name of the state."""

    result: object
    inputs: object
    state: dict[str, torch.Tensor]
    sharing: dict[str, list]
    """Which results are, or share memory with, inputs (""), a tensor of the state, and others."""
    wanting: list[bool]
    """Whether each tensor asks for a gradient, of the result and of the inputs."""
    gradients: dict[str, object]


def outcome(module, inputs):
    """An `Answer`, or what was raised; of what is no module, no more than result and inputs."""
    reseed(7)
    args, kwargs = inputs()
    tensors = tensors_of((args, kwargs))
    has_state = isinstance(module, torch.nn.Module)
    if has_state:
        module.zero_grad()
    reseed(7)
    try:
        with quietly():
            result = module(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return error
    result, given = opened(result, {}), opened((args, kwargs), {})
    if not has_state:
        return Answer(kept(result), kept(given), {}, {}, [], {})
    state = module.state_dict(keep_vars=True)
    shown = kept(result), kept(given), {name: kept(state[name]) for name in state}
    sharing = {name: aliases([], result, module, [name]) for name in state}
    sharing[""] = aliases(tensors, result, module, [])
    wanting = [each.requires_grad for each in [*tensors_of(result), *tensors]]
    found = gradients(module, tensors, result, [])
    received = {name: state[name].grad for name in state}
    return Answer(*shown, sharing, wanting, {"": found, **received})


def tensors_of(tree: object) -> list[torch.Tensor]:
    """The tensors of a tree that may hold objects."""
    leaves = pytree.tree_leaves(opened(tree, {}))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


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


def answers_there(case: Case, expected: list, reader, program, *, objects: bool = True) -> None:
    """What is read there answers alike wherever our program answers.

    `objects` is whether it changes the objects that callers pass.
    """
    followed, writes = follows(case), writes_at_the_end(program)
    for at, (call, left) in enumerate(zip(case.calls, expected, strict=True)):
        if isinstance(left, Exception):
            continue
        with torch.set_grad_enabled(followed):
            right = outcome(reader, call)
        if case.corpus in REGIONS and isinstance(right, IndexError) and NO_ROUND in str(right):
            continue
        if case.name in OF_ANOTHER_RANK and isinstance(right, IndexError):
            continue
        if writes and isinstance(right, monograph.ContractError) and OVERLAPS in str(right):
            continue
        alike(left, right, f"call {at}", case, objects=objects, writes=writes)


def follows(case: Case) -> bool:
    """Whether gradients are compared."""
    without = {*WRITES_PARAMETERS, *DETACHED_THERE, *NO_GRADIENT_THERE}
    return case.name not in (without | UNWRITTEN_THERE if case.lowered else without)


def writes_at_the_end(program: monograph.ExportedProgram) -> bool:
    """Whether what it writes is among the results of its graph."""
    kinds = {each.kind for each in program.graph_signature.output_specs}
    return not kinds.isdisjoint(WRITTEN_AT_THE_END)


def alike(
    left, right, what: str, there: Case | None = None, *, objects: bool = True, writes: bool = False
) -> None:
    """The same result and the same effects, as far as torch's operators of a case have them.

    Of a program that `writes` at the end one side may share less: there results are views of what
    is not in its place yet, and lie as that does.
    """
    assert not isinstance(right, Exception), f"{what}: it raises {right!r}"
    apart = views_of_one_side(left, right) if writes else set()
    same(dense(left.result, apart), dense(right.result, apart), f"the result of {what}")
    if objects:
        same(left.inputs, right.inputs, f"the inputs of {what}")
    names = left.state.keys() & right.state.keys()
    for name in names:
        same(left.state[name], right.state[name], f"{name} after {what}")
    if there is not None and not follows(there):
        return
    if there is not None and there.corpus in REGIONS:
        for name in ("", *names):
            same_or_zero(left.gradients[name], right.gradients[name], f"of {name} in {what}")
        return
    assert left.wanting == right.wanting, f"{what}: gradients are asked for {right.wanting}"
    for name in ("", *names):
        same(left.gradients[name], right.gradients[name], f"the gradient of {name} in {what}")
        for one, other in zip(left.sharing[name], right.sharing[name], strict=True):
            found = {*zip(one, other, strict=True)} - {("views", ""), ("", "views")}
            assert one == other or (writes and all(a == b for a, b in found)), f"{what}: {other}"


def views_of_one_side(left: Answer, right: Answer) -> set[int]:
    """Which tensors of the results share memory with others on one side alone."""
    pairs = [(rows, right.sharing.get(name, rows)) for name, rows in left.sharing.items()]
    return {at for pair in pairs for at, (a, b) in enumerate(zip(*pair, strict=True)) if a != b}


def dense(result: object, which: set[int]) -> object:
    """The result, with these of its tensors laid out densely."""
    at = count()

    def laid_out(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.contiguous() if next(at) in which else tensor

    return pytree.tree_map_only(torch.Tensor, laid_out, result)


def same_or_zero(left, right, what: str) -> None:
    """The same gradients, where none is as good as zeros."""
    if isinstance(left, list) and isinstance(right, list):
        for one, other in zip(left, right, strict=True):
            same_or_zero(one, other, what)
        return
    if left is None or right is None:
        found = [each for each in pytree.tree_leaves([left, right]) if each is not None]
        left, right = found, [torch.zeros_like(each) for each in found]
    same(left, right, f"the gradient {what}")


def has_objects(program: monograph.ExportedProgram) -> bool:
    """Whether objects of classes that are not registered go in or out."""
    return "ObjectNode" in f"{program.in_spec}{program.out_spec}"


def written_here(case: Case) -> None:
    """Save here; read here, read there, save there, and read that here."""
    if case.lowered and case.name in NOT_LOWERED:
        with pytest.raises(monograph.MonographError) as caught:
            case.exported()
        assert caught.value.diagnostic.name == NOT_LOWERED[case.name]
        return
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
            answers_there(case, expected, theirs.module(), program)
    answers_there(case, expected, loaded(again).module(), program)


def exported_there(case: Case, *, dynamic: bool) -> torch.export.ExportedProgram:
    """Export it there, with fixed sizes or all of them `AUTO`."""
    module = made(case)
    args, kwargs = case.example()
    shapes = every_dim_there(module, args, kwargs) if dynamic else None
    with quietly():
        program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes)
        return program.run_decompositions() if case.lowered else program


def without_a_file_there(case: Case) -> str | None:
    """Why there is no file of it from there that could be read."""
    if case.name in PICKLED:
        return "stock pickles the generator, and pickles are not read"
    if case.name.startswith("Associative"):
        return "read after it was lowered: test_control_flow.py"
    if case.name in NOT_HELD or case.name in FUNCTORCH:
        return "no file holds it, or stock's calls functions that are no operators"
    return None


def written_there(case: Case, *, dynamic: bool = False) -> None:
    """Save there, read here, save here, read there. Here, more calls are refused."""
    if (reason := without_a_file_there(case)) is not None:
        pytest.skip(reason)
    try:
        content = saved_there(exported_there(case, dynamic=dynamic))
        # In a file state shares no memory with constants.
        expected = outcomes(case, loaded_there(content).module())
    except Exception:  # noqa: BLE001  whatever keeps the peer from exporting
        pytest.skip("torch.export does not export it, or cannot save or load it")
    refused = {**(NOT_READ_LOWERED if case.lowered else {}), **(NOT_READ_OPEN if dynamic else {})}
    if case.name in refused:
        with pytest.raises(ArchiveError) as caught:
            loaded(content)
        assert refused[case.name] in " ".join(str(caught.value).split())
        return
    ours = loaded(content)
    again = saved(ours)
    writes = writes_at_the_end(ours)
    answered = {*BY_POSITION_ALONE, *NO_FORM, *WRITES_PARAMETERS}
    for at, (left, right) in enumerate(zip(expected, outcomes(case, ours.module()), strict=True)):
        if isinstance(left, Exception):
            assert isinstance(right, Exception) or case.name in answered
        elif at and isinstance(right, monograph.ContractError):
            if dynamic and ".size()" in str(right):
                assert BELOW_TWO in str(right)
                expected[at] = right
        else:
            alike(left, right, f"call {at}", case, writes=writes)
    if unreadable_there(ours):
        return
    with quietly():
        answers_there(case, expected, loaded_there(again).module(), ours)


def some(cases: list[Case], every: int) -> pytest.MarkDecorator:
    """All of them, but for one in so many as slow tests."""
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=f"{case.corpus}-{case.name}" + "-lowered" * case.lowered,
                marks=[pytest.mark.slow] if index % every else [],
            )
            for index, case in enumerate(cases)
        ],
    )


@some(CASES, EVERY)
def test_what_is_written_here_is_read_by_both(case):
    """Results, effects, and here the same refusals."""
    written_here(case)


@some(CASES, EVERY)
def test_what_is_written_there_is_read_by_both(case):
    """Results and effects, with the sizes of the example."""
    written_there(case)


@some(VARYING, EVERY_LOWERED)
def test_what_is_written_there_for_all_sizes_is_read_by_both(case):
    """As above, with every size left open where torch.export can."""
    written_there(case, dynamic=True)


@some(LOWERED, EVERY_LOWERED)
def test_what_is_lowered_here_is_read_by_both(case):
    """As above, after each side's own `run_decompositions`."""
    written_here(case)


@some(LOWERED, EVERY_LOWERED)
def test_what_is_lowered_there_is_read_by_both(case):
    """As above."""
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
            answers_there(case, expected, theirs.module(), program)
        answers_there(case, expected, loaded(saved_there(theirs)).module(), program)
