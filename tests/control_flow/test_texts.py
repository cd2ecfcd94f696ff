"""A program with captured branches and loops as Python text: conditional expressions and loops."""

import copy

import pytest
import torch

import monograph
from tests.control_flow.branching import PROGRAMS, Branching
from tests.programs.texts import Texted

CAPTURED = [each for each in PROGRAMS.values() if not each.refused]


@pytest.mark.parametrize("program", CAPTURED, ids=lambda each: each.name)
def test_the_text_is_the_program(program: Branching):
    """It agrees with eager on every way."""
    example = tuple(each.clone() for each in program.calls[0])
    module = program.make()
    eager = copy.deepcopy(module)
    exported = monograph.export(module, example, control_flow="capture")
    run = Texted(exported).module()
    for inputs in (*program.calls, *program.calls):
        given, mine = (tuple(each.clone() for each in inputs) for _ in range(2))
        try:
            expected = eager(*given)
        except (AssertionError, ValueError) as error:  # an assertion of the program's
            with pytest.raises(AssertionError, match=str(error)):
                run(*mine)
            continue
        torch.testing.assert_close(run(*mine), expected, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(mine, given, rtol=0, atol=0, equal_nan=True)
