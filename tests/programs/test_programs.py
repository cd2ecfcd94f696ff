"""Every small program agrees with eager on inputs unlike its example, or refuses by name."""

import pytest

from monograph.diagnostics import MonographError
from tests.programs import (  # noqa: F401  importing registers the programs
    constants,
    data_dependent,
    indexing,
    mutation,
    regions,
    seeds,
    sizing,
    structures,
)
from tests.programs.harness import (
    SEED_OF_CALL,
    agree,
    build,
    capture,
    captured_once,
    gradients,
    inputs_at,
    same,
    start_anew,
)
from tests.programs.registry import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)

CAPTURED = [each for each in PROGRAMS.values() if not each.refused and not each.raises]
every_program = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
every_captured = pytest.mark.parametrize("program", CAPTURED, ids=[p.name for p in CAPTURED])


def captured(program, *, dynamic):
    """Give what was captured, or hold that the refusal is as expected, in the user's file."""
    name = program.refused or (program.refused_dynamic if dynamic else None)
    if name is not None:
        with pytest.raises(MonographError) as caught:
            capture(program, dynamic=dynamic)
        assert caught.value.diagnostic.name == name, str(caught.value)
        assert "programs/" in str(caught.value) or program.placeless, str(caught.value)
        return None
    if program.raises is not None:
        with pytest.raises(program.raises):
            capture(program, dynamic=dynamic)
        return None
    return captured_once(program, dynamic=dynamic).module()


@every_program
def test_static(program):
    """At the example's sizes the program agrees on other values; at others it agrees or refuses."""
    module = captured(program, dynamic=False)
    if module is None:
        return
    assert agree(program, module, program.sizes) in {"agrees", "raises"}
    for sizes in program.sweep():
        agree(program, module, sizes)


@every_program
def test_dynamic(program):
    """Captured with every dimension open, the program agrees or refuses at every size tried."""
    module = captured(program, dynamic=True)
    if module is None:
        return
    assert agree(program, module, program.sizes) in {"agrees", "raises"}
    verdicts = {str(sizes): agree(program, module, sizes) for sizes in program.sweep()}
    if program.fixed or not program.sizes:
        return
    assert "agrees" in verdicts.values(), "no other size is accepted"
    for sizes in program.accepts:
        assert verdicts[str(program.sizes | sizes)] == "agrees", f"{sizes} is refused"


@every_captured
def test_gradients(program):
    """What receives a gradient from eager receives the same from the program, and nothing else."""
    if not program.gradients:
        pytest.skip("nothing to differentiate")
    reference = build(program)
    module = captured_once(program, dynamic=False).module()
    start_anew(module, reference)
    given = inputs_at(program, program.sizes, SEED_OF_CALL)
    expected = gradients(reference, given)
    if isinstance(expected, Exception):
        return
    actual = gradients(module, given)
    if isinstance(actual, Exception):
        raise actual
    same(expected[:2], actual[:2], "requires_grad and the inputs' gradients")
    for name in expected[2].keys() & actual[2].keys():
        gradient = actual[2][name]
        same(expected[2][name], gradient, f"the gradient of {name}")
