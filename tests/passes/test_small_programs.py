"""Every small program agrees with eager after it was lowered, at inputs unlike its example.

The corpus is that of capture (`tests/programs`), with what is compared there: values, layouts,
what callers see of writes, and which results are inputs or share memory with them.
"""

import pytest

import monograph
from monograph.diagnostics import MonographError
from monograph.program import OutputKind
from tests.programs import test_programs  # importing registers the programs
from tests.programs.harness import agree, captured_once
from tests.programs.registry import PROGRAMS

pytestmark = test_programs.pytestmark

KEPT_AS_IT_IS = {
    "input_transposed_in_place": "not-functional",
    "input_unsqueezed_in_place": "not-functional",
}
"""Programs whose effect cannot be said without writing, by the name of the refusal."""

SIZES_LEFT_OUT = {
    # Eager raises in an operator whose result nobody uses, and such operators go.
    "write_through_list_is_lost": (0, 1),
}

LOWERED = [each for each in PROGRAMS.values() if not each.refused and not each.raises]
TABLES = {"functional": dict, "core": monograph.default_decompositions}


@pytest.mark.parametrize(
    ("dynamic", "table"),
    [
        pytest.param(False, "functional", id="static-functional"),
        pytest.param(True, "core", id="dynamic-core"),
        pytest.param(False, "core", id="static-core", marks=pytest.mark.slow),
        pytest.param(True, "functional", id="dynamic-functional", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("program", LOWERED, ids=[each.name for each in LOWERED])
def test_lowered(program, dynamic, table):
    """The lowered program agrees or refuses wherever the captured one agrees; lowering is final."""
    if dynamic and program.refused_dynamic:
        pytest.skip("captured at fixed sizes only")
    captured = captured_once(program, dynamic=dynamic)
    text = str(captured.graph)
    refusal = KEPT_AS_IT_IS.get(program.name)
    if refusal is not None:
        with pytest.raises(MonographError) as caught:
            captured.run_decompositions(TABLES[table]())
        assert caught.value.diagnostic.name == refusal, str(caught.value)
        return
    lowered = captured.run_decompositions(TABLES[table]())
    assert str(captured.graph) == text, "lowering changed the program it was given"
    module = lowered.module()
    assert agree(program, module, program.sizes) in {"agrees", "raises"}
    left_out = SIZES_LEFT_OUT.get(program.name, ())
    for sizes in program.sweep():
        if sizes.get("n") not in left_out:
            agree(program, module, sizes)
    assert not lowered.graph_signature.mutated_in_place
    again = lowered.run_decompositions(TABLES[table]())
    assert operators(again) == operators(lowered)
    assert kinds(again) == kinds(lowered)
    assert agree(program, again.module(), program.sizes) in {"agrees", "raises"}


def operators(program):
    """Every call in order, regions included."""
    return [
        str(node.target)
        for module in program.graph_module.modules()
        for node in module.graph.nodes
        if node.op == "call_function"
    ]


def kinds(program):
    """What the outputs are."""
    return [
        (spec.kind, spec.target)
        for spec in program.graph_signature.output_specs
        if spec.kind is not OutputKind.USER_OUTPUT
    ]
