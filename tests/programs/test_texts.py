"""Every small program, written as Python and run, agrees with eager where the program does."""

import pytest

from tests.programs.harness import agree, captured_once
from tests.programs.test_programs import CAPTURED
from tests.programs.texts import Texted

pytestmark = pytest.mark.filterwarnings(
    "ignore:Using a non-tuple sequence",
    "ignore:indexing with dtype",
    "ignore:.*degrees of freedom",
)


@pytest.mark.parametrize("program", CAPTURED, ids=[p.name for p in CAPTURED])
def test_text(program):
    """Static or dynamic, at the example's sizes and others."""
    for dynamic in (False, True):
        if dynamic and program.refused_dynamic:
            continue
        module = Texted(captured_once(program, dynamic=dynamic)).module()
        assert agree(program, module, program.sizes) in {"agrees", "raises"}
        for sizes in program.sweep()[:3] if dynamic else ():
            agree(program, module, sizes)
