"""Every small program, unflattened, agrees with eager where the program itself does."""

import pytest

from monograph import unflatten
from tests.programs.harness import agree, build, captured_once
from tests.programs.test_programs import CAPTURED

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)

every_captured = pytest.mark.parametrize("program", CAPTURED, ids=[p.name for p in CAPTURED])


@every_captured
def test_unflattened(program):
    """Static or dynamic, at the example's sizes and others, and the state dict is the model's."""
    for dynamic in (False, True):
        if dynamic and program.refused_dynamic:
            continue
        module = unflatten(captured_once(program, dynamic=dynamic))
        assert agree(program, module, program.sizes) in {"agrees", "raises"}
        for sizes in program.sweep()[:3] if dynamic else ():
            agree(program, module, sizes)
        assert set(module.state_dict()) == set(build(program).state_dict())
